# SPDX-License-Identifier: MIT
# vfront. `make help` lists the targets, `make show` the settings.

## Settings, each to be given on the command line:
##   CFG=file.h      config that overrides vfront_cfg.h
##   CUDA=0|1        kernels and CUDA port; without it: 1 where nvcc is found
##   CUDA_ARCH="..." compute capabilities, e.g. "62 72 87"; the last also as PTX. Never asked of this machine
##   CUDA_HOME=dir   CUDA toolkit
##   CROSS=prefix-   cross compilers, e.g. aarch64-linux-gnu-
##   EXEC=program    runs what was cross-built
##   BUILD=dir       where everything is built
##   WERROR=1        warnings are errors
##   SANITIZE=list   host sanitizers, e.g. address,undefined
CC        := $(if $(CROSS),$(CROSS)gcc,$(if $(filter default undefined,$(origin CC)),gcc,$(CC)))
AR        := $(CROSS)ar
NM        := $(CROSS)nm
SIZE      := $(CROSS)size
MACHINE   := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
BUILD     ?= build$(if $(CROSS),/$(MACHINE))
EXEC      ?= $(if $(CROSS),qemu-$(MACHINE)-static -L /usr/$(CROSS:-=))

nvcc_found := $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
NVCC      ?= $(nvcc_found)
CUDA      ?= $(if $(NVCC),1,0)
ifeq ($(CUDA),1)
ifeq ($(NVCC),)
$(error CUDA=1, but no nvcc: install the CUDA toolkit, or give CUDA_HOME= or NVCC=)
endif
NVCC_VERSION := $(shell $(NVCC) --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
CUDA_ARCH ?= $(if $(filter 10 11 12,$(NVCC_VERSION)),62 72 87,75 87 90 110)
CUDA_ROOT := $(or $(CUDA_HOME),$(patsubst %/bin/,%,$(dir $(realpath $(NVCC)))))
CUDA_TARGET ?= $(CUDA_ROOT)/targets/$(MACHINE)-linux
CUDA_INC  := $(firstword $(wildcard $(CUDA_TARGET)/include) $(CUDA_ROOT)/include)
CUDA_LIB  ?= $(firstword $(wildcard $(CUDA_TARGET)/lib) $(if $(CROSS),,$(CUDA_ROOT)/lib64))
CUDA_CXX  ?= $(if $(CROSS),$(CROSS)g++$(if $(filter 11,$(NVCC_VERSION)),-11))
endif

WARN   := -Wall -Wextra $(if $(WERROR),-Werror)
WARN_C := $(WARN) -pedantic -Wundef -Wshadow -Wconversion -Wmissing-prototypes -Wvla -Wdouble-promotion
FLAGS  := -I. $(if $(CFG),-DVFRONT_USER_CFG='"$(abspath $(CFG))"') $(if $(filter 1,$(CUDA)),-DVFRONT_CUDA)
SAN    := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -g -DVF_NO_CLONES)
CFLAGS ?= -O3
ALL_CFLAGS = -std=c11 $(CFLAGS) $(WARN_C) -ffp-contract=off -fno-math-errno -ffunction-sections $(FLAGS) $(SAN) -MMD -MP $(if $(filter 1,$(CUDA)),-isystem $(CUDA_INC))
GENCODE = $(foreach a,$(CUDA_ARCH),-gencode arch=compute_$(a),code=sm_$(a)) \
          -gencode arch=compute_$(lastword $(CUDA_ARCH)),code=compute_$(lastword $(CUDA_ARCH))
comma := ,
NVCCFLAGS = -std=c++14 -O3 -fmad=false -prec-div=true -prec-sqrt=true -ftz=false $(GENCODE) $(if $(CUDA_CXX),-ccbin $(CUDA_CXX)) \
            $(if $(CROSS),-target-dir $(MACHINE)-linux) -Wno-deprecated-gpu-targets $(if $(WERROR),-Werror all-warnings) \
            -Xcompiler -Wall$(comma)-Wextra$(comma)-fno-exceptions$(comma)-fno-rtti$(comma)-fno-threadsafe-statics$(comma)-ffp-contract=off \
            $(FLAGS) $(NVCC_EXTRA)
LIBS = $(if $(filter 1,$(CUDA)),-L$(CUDA_LIB) -lcudart_static) -lpthread -ldl -lrt

STAGES  := $(shell awk -F '[^a-z_A-Z]+' '/^VF_STAGE/ {print $$2}' src/stages.def)
SRC     := $(wildcard src/*.c) port/host/host.c $(if $(filter 1,$(CUDA)),port/cuda/cuda.c)
KERNELS := $(if $(filter 1,$(CUDA)),$(STAGES:%=kernels/%.cu))
OBJ     := $(SRC:%.c=$(BUILD)/%.o) $(KERNELS:%.cu=$(BUILD)/%.cu.o)
LIB     := $(BUILD)/libvfront.a

.PHONY: all lib help show clean
all: lib $(BUILD)/minimal $(BUILD)/replay ## Library, example and replay

lib: $(LIB) ## The library, libvfront.a

help: ## This list
	@sed -n 's/^## \{0,1\}//p' Makefile; echo; sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

show: ## The settings in force
	@echo "CC=$(CC) MACHINE=$(MACHINE) CUDA=$(CUDA) NVCC=$(NVCC) CUDA_ARCH=$(CUDA_ARCH) BUILD=$(BUILD) CFG=$(CFG)"

$(LIB): $(OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(EXTRA_$(basename $(notdir $<))) -c $< -o $@

$(BUILD)/%.cu.o: %.cu Makefile
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -MMD -MF $(@:.o=.d) -c $< -o $@

# Pictures and yaml: libraries where they are installed, for tools and tests only.
has = $(shell echo 'int main(void){return 0;}' | $(CC) -xc -include $(1) - $(2) -o /dev/null 2>/dev/null && echo 1)
HAVE_PNG  := $(call has,png.h,-lpng)
HAVE_YAML := $(call has,yaml.h,-lyaml)
FORMATS   := $(if $(HAVE_PNG),-DHAVE_PNG) $(if $(HAVE_YAML),-DHAVE_YAML)
FORMAT_LIBS := $(if $(HAVE_PNG),-lpng) $(if $(HAVE_YAML),-lyaml)
EXTRA_replay = $(FORMATS)
EXTRA_dataset = $(FORMATS)
EXTRA_picture = $(FORMATS)
EXTRA_vfbench = -Wno-strict-prototypes -Wno-pedantic

EXAMPLE := $(BUILD)/examples
$(BUILD)/minimal: $(EXAMPLE)/minimal.o $(LIB)
	$(CC) $(SAN) $^ -o $@ $(LIBS)

$(BUILD)/replay: $(addprefix $(EXAMPLE)/,replay.o record.o dataset.o picture.o synthetic.o overlay.o) $(LIB)
	$(CC) $(SAN) $^ -o $@ $(FORMAT_LIBS) $(LIBS)

TEST := $(BUILD)/tests
$(BUILD)/vfcheck: $(TEST)/vfcheck.o $(TEST)/vfbench.o $(TEST)/floor.cu.o $(LIB)
	$(CC) $(SAN) $^ -o $@ $(LIBS)

gpu-proof: ## Proves and times the kernels on this machine's GPU, writes tests/gpu-proof.txt
	tests/gpu-proof.sh $(BUILD) $(MAKE) --no-print-directory

clean: ## Removes what was built
	rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
