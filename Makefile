# SPDX-License-Identifier: MIT
# vfront. `make help` lists the targets, `make show` the settings.

## Settings, each to be given on the command line:
##   CFG=file.h      config that overrides vfront_cfg.h
##   CUDA=0|1        kernels and CUDA port; without it: 1 where nvcc is found
##   CUDA_ARCH="..." compute capabilities, e.g. "62 72 87"; the first and the last also as PTX. Never asked of this machine
##   CUDA_HOME=dir   CUDA toolkit
##   CUBLAS=1        VFRONT_CUBLAS 1: small systems through cuBLAS; CUBLAS_LIBS="..." links another than the toolkit's
##   PREFIX=dir      where `make install` puts the library: /usr/local; DESTDIR=dir is put before it
##   SHARED=1        `make install` adds the shared library, its SONAME by VFRONT_ABI
##   PREFIX_SYMBOLS=name_  all symbols of the library begin with it: two libraries of different configs in one program
##   CROSS=prefix-   cross compilers, e.g. aarch64-linux-gnu-
##   EXEC=program    runs what was cross-built
##   BUILD=dir       where everything is built
##   WERROR=1        warnings are errors
##   SANITIZE=list   host sanitizers, e.g. address,undefined
##   V=1             shows every command
CC        := $(if $(CROSS),$(CROSS)gcc,$(if $(filter default undefined,$(origin CC)),gcc,$(CC)))
LTO        = $(if $(findstring -flto,$(CFLAGS)),gcc-)
AR         = $(CROSS)$(LTO)ar
NM         = $(CROSS)$(LTO)nm
OBJCOPY   := $(CROSS)objcopy
SIZE      := $(CROSS)size
MACHINE   := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
BUILD     ?= build$(if $(CROSS),/$(MACHINE))
EXEC      ?= $(if $(CROSS),qemu-$(MACHINE)-static -L /usr/$(CROSS:-=))

# A cross build takes the toolkit that tests/cross/cuda118.sh lays out, unless another is named on the command line; never this machine's.
ifneq ($(CROSS),)
ifneq ($(origin CUDA_HOME),command line)
CUDA_HOME := $(abspath $(wildcard build/cross/cuda-11.8))
endif
nvcc_found := $(wildcard $(CUDA_HOME)/bin/nvcc)
ifeq ($(nvcc_found)$(CUDA),)
$(warning no CUDA toolkit for $(CROSS): host port only; tests/cross/cuda118.sh build/cross/cuda-11.8 gets one, or give CUDA_HOME=)
endif
else
nvcc_found := $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
endif
NVCC      ?= $(nvcc_found)
CUDA      ?= $(if $(NVCC),1,0)
ifeq ($(CUDA),1)
ifeq ($(NVCC),)
$(error CUDA=1, but no nvcc: install the CUDA toolkit, or give CUDA_HOME= or NVCC=)
endif
NVCC_VERSION := $(shell $(NVCC) --version 2>/dev/null | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p')
# JetPack 4: Nano, TX2, Xavier. JetPack 5 and 6: Xavier, Orin; CUDA 11.0 to 11.3 cannot compile for Orin. From 13 on Turing, Orin, Hopper, Thor.
ARCH_10 := 53 62 72
ARCH_11 := $(if $(filter 11.0 11.1 11.2 11.3,$(NVCC_VERSION)),72,72 87)
ARCH_12 := 72 87
CUDA_ARCH ?= $(or $(ARCH_$(basename $(NVCC_VERSION))),75 87 90 110)
ifneq ($(filter 0.% 1.% 2.% 3.% 4.% 5.% 6.% 7.% 8.% 9.% 10.0 10.1,$(or $(NVCC_VERSION),0.0)),)
$(error $(NVCC) is not nvcc of CUDA 10.2 or later: its release is '$(NVCC_VERSION)')
endif
CUDA_ROOT := $(or $(CUDA_HOME),$(patsubst %/bin/,%,$(dir $(realpath $(NVCC)))))
CUDA_TARGET ?= $(CUDA_ROOT)/targets/$(MACHINE)-linux
CUDA_INC  := $(firstword $(wildcard $(CUDA_TARGET)/include) $(CUDA_ROOT)/include)
CUDA_LIB  ?= $(firstword $(wildcard $(CUDA_TARGET)/lib) $(if $(CROSS),,$(CUDA_ROOT)/lib64))
CUDA_CXX  ?= $(if $(CROSS),$(CROSS)g++$(if $(filter 11.%,$(NVCC_VERSION)),-11))
endif

WARN   := -Wall -Wextra $(if $(WERROR),-Werror)
WARN_C := $(WARN) -pedantic -Wundef -Wshadow -Wconversion -Wmissing-prototypes -Wvla -Wdouble-promotion
FLAGS  := -I. -Isrc $(if $(CFG),-DVFRONT_USER_CFG='"$(abspath $(CFG))"') $(if $(filter 1,$(CUDA)),-DVFRONT_CUDA) $(if $(filter 1,$(CUBLAS)),-DVFRONT_CUBLAS=1)
# Value of VFRONT_CUBLAS in the config, wherever it is set.
HAS_CUBLAS := $(if $(filter 1,$(CUDA)),$(shell printf '\043include "vfront_cfg.h"\nVFRONT_CUBLAS' | $(CC) $(FLAGS) -E -P -xc - | tail -1))
SAN    := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -g1 -DVF_NO_CLONES)
CFLAGS ?= $(if $(SANITIZE),-O1,-O3)# sanitizers slow compilers down: a file of ego takes 74 s with -O3, and with -g; 6 s with -O1 and -g1
# Floating point as IEEE 754 has it, in the library and in all that compiles its sources: the same bits from every compiler.
EXACT  := -ffp-contract=off -fno-math-errno -fno-trapping-math
# Code of any address, so that the archive goes into programs and shared libraries alike; of these only vfront_... can be seen.
PIC    := -fPIC -fvisibility=hidden
ALL_CFLAGS = -std=c11 $(CFLAGS) $(WARN_C) $(EXACT) $(PIC) -ffunction-sections $(FLAGS) $(SAN) $(if $(filter 1,$(CUDA)),-isystem $(CUDA_INC))
# Machine code for each, and PTX of the first and the last, from which the driver makes code for any other GPU at vfront_init().
GENCODE = $(foreach a,$(CUDA_ARCH),-gencode arch=compute_$(a),code=sm_$(a)) \
          $(foreach a,$(sort $(firstword $(CUDA_ARCH)) $(lastword $(CUDA_ARCH))),-gencode arch=compute_$(a),code=compute_$(a))
comma := ,
NVCCFLAGS = -std=c++14 -O3 -fmad=false -prec-div=true -prec-sqrt=true -ftz=false $(GENCODE) $(if $(CUDA_CXX),-ccbin $(CUDA_CXX)) \
            $(if $(CROSS),-target-dir $(MACHINE)-linux) -Wno-deprecated-gpu-targets $(if $(WERROR),-Werror all-warnings) \
            -Xcompiler -Wall$(comma)-Wextra$(comma)-fno-exceptions$(comma)-fno-rtti$(comma)-fno-threadsafe-statics$(comma)-ffp-contract=off$(comma)-fPIC$(comma)-fvisibility=hidden \
            $(FLAGS) $(NVCC_EXTRA)
CUBLAS_LIBS ?= $(if $(wildcard $(CUDA_LIB)/libcublas.so),-lcublas -Wl$(comma)-rpath$(comma)$(CUDA_LIB),-lcublas_static -lcublasLt_static -lculibos -lstdc++ -lm)
LIBS = $(if $(filter 1,$(CUDA)),-L$(CUDA_LIB) $(if $(filter 1,$(HAS_CUBLAS)),$(CUBLAS_LIBS)) -lcudart_static) -lpthread -ldl -lrt

STAGES  := $(shell awk -F '[^a-z_A-Z]+' '/^VF_STAGE/ {print $$2}' src/stages.def)
HEADERS := vfront.h vfront_cfg.h $(wildcard src/*.def src/*/*.h port/*.h port/*/*.h kernels/*.cuh kernels/*/*.cuh kernels/*/*.h)
SRC     := $(wildcard src/*/*.c port/host/*.c)
KERNELS := $(if $(filter 1,$(CUDA)),$(wildcard kernels/*/*.cu))
OBJ     := $(SRC:%.c=$(BUILD)/%.o) $(if $(filter 1,$(CUDA)),$(patsubst %.c,$(BUILD)/%.o,$(wildcard port/cuda/*.c))) $(KERNELS:%.cu=$(BUILD)/%.cu.o)
NAME    := $(PREFIX_SYMBOLS)vfront
LIB     := $(BUILD)/lib$(NAME).a

# A command is shown in short; V=1 shows it in full.
ifndef V
.SILENT:
endif
.PHONY: all programs lib docs help show test check clean FORCE
COPIES := minimal mono stereo vio# programs that a user copies: examples/*.c, of the library alone
DEMO   := $(BUILD)/demo
all: programs $(if $(CFG)$(CROSS)$(PREFIX_SYMBOLS),,$(DEMO)/replay) ## Library, programs to copy, replay, calibrate and companion, and replay of the demo's config

programs: lib $(if $(PREFIX_SYMBOLS),,$(COPIES:%=$(BUILD)/%) $(BUILD)/replay $(BUILD)/calibrate $(BUILD)/companion) ## The same without the demo

lib: $(LIB) ## The library, libvfront.a

help: ## This list
	@sed -n 's/^## \{0,1\}//p' Makefile; echo; sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile src/install.mk tests/tests.mk | expand -t 22

show: ## The settings in force
	@echo "CC=$(CC) MACHINE=$(MACHINE) CUDA=$(CUDA) NVCC=$(NVCC) CUDA_ARCH=$(CUDA_ARCH) BUILD=$(BUILD) CFG=$(CFG)"

$(LIB): $(OBJ)
	@rm -f $@
	@echo "  AR   $@"
	$(AR) rcs $@ $^
ifneq ($(PREFIX_SYMBOLS),)
	@[ -z '$(LTO)' ] || { echo 'PREFIX_SYMBOLS cannot rename what -flto keeps for the linker'; rm $@; exit 1; }
	$(NM) -g --defined-only $@ 2>/dev/null | awk 'NF == 3 {print $$3, "$(PREFIX_SYMBOLS)" $$3}' | sort -u >$@.names
	$(OBJCOPY) --redefine-syms=$@.names $@
endif

# Files that hold the settings of a build folder, and which libraries were found. They change when one of these does, and with them all that was
# built from it.
SETTINGS_C = $(CC) $(ALL_CFLAGS) $(FORMATS) $(if $(HAVE_GST),-DHAVE_GST $(GST_FLAGS) $(GST_LIBS)) $(if $(HAVE_DDS),-DHAVE_DDS)
$(BUILD)/settings-c: FORCE
	@mkdir -p $(@D); printf '%s\n' '$(subst ','\'',$(SETTINGS_C))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(SETTINGS_C))' >$@
$(BUILD)/settings-cuda: FORCE
	@mkdir -p $(@D); printf '%s\n' '$(subst ','\'',$(NVCC) $(NVCCFLAGS))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(NVCC) $(NVCCFLAGS))' >$@

$(BUILD)/%.o: %.c Makefile $(BUILD)/settings-c
	@mkdir -p $(@D) && echo "  CC   $@"
	$(CC) $(ALL_CFLAGS) $(EXTRA) -MMD -MP -c $< -o $@

$(BUILD)/%.cu.o: %.cu Makefile $(BUILD)/settings-cuda
	@mkdir -p $(@D) && echo "  NVCC $@ ($(CUDA_ARCH))"
	$(NVCC) $(NVCCFLAGS) -MMD -MF $(@:.o=.d) -c $< -o $@

# ---- examples: pictures and yaml by libraries, where they are installed ---------------------------------------------------------------
has = $(shell echo 'int main(void){return 0;}' | $(CC) -xc -include $(1) - $(2) -o /dev/null 2>/dev/null && echo 1)
HAVE_PNG  := $(call has,png.h,-lpng)
HAVE_YAML := $(call has,yaml.h,-lyaml)
HAVE_JPEG := $(call has,stdio.h -include jpeglib.h,-ljpeg)
HAVE_LZ4  := $(call has,lz4frame.h,-llz4)
HAVE_ZSTD := $(call has,zstd.h,-lzstd)
FORMATS   := $(foreach l,PNG YAML JPEG LZ4 ZSTD,$(if $(HAVE_$l),-DHAVE_$l))
FORMAT_LIBS := $(if $(HAVE_PNG),-lpng) $(if $(HAVE_YAML),-lyaml) $(if $(HAVE_JPEG),-ljpeg) $(if $(HAVE_LZ4),-llz4) $(if $(HAVE_ZSTD),-lzstd)

# GStreamer for cameras and videos of companion and replay, where it is installed for this compiler.
GST_PARTS := gstreamer-app-1.0 gstreamer-video-1.0
GST_FLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(GST_PARTS) 2>/dev/null))
GST_LIBS  := $(shell pkg-config --libs $(GST_PARTS) 2>/dev/null)
HAVE_GST  := $(if $(GST_LIBS),$(call has,gst/app/gstappsink.h,$(GST_FLAGS) $(GST_LIBS)))
GST_LIBS  := $(if $(HAVE_GST),$(GST_LIBS))

# Cyclone DDS for companion --link dds, likewise.
DDS_LIBS := $(shell pkg-config --libs 'CycloneDDS >= 0.10' 2>/dev/null)
HAVE_DDS := $(if $(DDS_LIBS),$(call has,dds/dds.h,$(DDS_LIBS)))
DDS_LIBS := $(if $(HAVE_DDS),$(DDS_LIBS))

EXAMPLE := $(BUILD)/examples
# The renderer alone, without the flight along a trajectory, which reads files; tests take it without the rest.
RENDERER := $(filter-out examples/synthetic/course%.c,$(wildcard examples/synthetic/*.c))
COMMON  := $(filter-out %/replay.c %/latency.c %/live.c,$(wildcard examples/replay/*.c)) $(wildcard examples/common/*.c examples/synthetic/*.c examples/recording/*.c)# of replay
$(EXAMPLE)/%.o: EXTRA = $(FORMATS)
# Recordings name the sources of the library that made them.
$(EXAMPLE)/recording/header.o: EXTRA = -DRECORDING_SOURCES='"$(shell tests/house/sources.sh)"'
$(EXAMPLE)/recording/header.o: $(SRC) $(HEADERS) $(wildcard port/cuda/*.c kernels/*/*.cu)
$(EXAMPLE)/parts.a: $(COMMON:%.c=$(BUILD)/%.o)
	@rm -f $@
	$(AR) rcs $@ $^

# What the package of examples/python is made of: a shared library, and the header as the compiler reads it, with its comments.
$(BUILD)/python/libvfront.so: examples/python/shared.c $(LIB)
	@mkdir -p $(@D) && echo "  LINK $@"
	$(CC) $(ALL_CFLAGS) -shared -Wl,--no-undefined $< -Wl,--whole-archive $(LIB) -Wl,--no-whole-archive -o $@ -lm $(LIBS)
$(BUILD)/python/vfront.i: vfront.h vfront_cfg.h $(CFG) $(BUILD)/settings-c
	@mkdir -p $(@D)/none && touch $(@D)/none/stddef.h $(@D)/none/stdint.h
	$(CC) -std=c11 $(FLAGS) -nostdinc -I$(@D)/none -U__GNUC__ -E -C -P -dD -xc vfront.h -o $@

$(COPIES:%=$(BUILD)/%): $(BUILD)/%: $(EXAMPLE)/%.o $(LIB)
	@echo "  LINK $@"
	$(CC) $(SAN) $^ -o $@ $(LIBS)

# Cameras, videos and the page: of the companion.
LIVE := $(addprefix $(EXAMPLE)/companion/,source.o source_dataset.o source_gst.o source_pair.o source_sim.o source_v4l2.o clock.o health.o view.o view_text.o view_page.o)
$(BUILD)/replay: $(EXAMPLE)/replay/replay.o $(EXAMPLE)/replay/live.o $(LIVE) $(EXAMPLE)/parts.a $(LIB)
	@echo "  LINK $@"
	$(CC) $(SAN) $^ -o $@ $(FORMAT_LIBS) $(GST_LIBS) -lm $(LIBS)

# The first run: disparities, obstacles and map; kernels for one architecture, whose PTX runs on every later GPU.
$(DEMO)/replay: FORCE
	+$(MAKE) --no-print-directory BUILD=$(DEMO) CFG=examples/replay/demo_cfg.h CUDA_ARCH="$(firstword $(CUDA_ARCH))" $@

$(BUILD)/latency: $(EXAMPLE)/replay/latency.o $(EXAMPLE)/parts.a $(LIB)
	@echo "  LINK $@"
	$(CC) $(SAN) $^ -o $@ $(FORMAT_LIBS) -lm $(LIBS)

# calibrate: check of a calibration on a recording, with parts of replay.
$(BUILD)/calibrate: $(patsubst %.c,$(BUILD)/%.o,$(wildcard examples/calibrate/*.c)) $(EXAMPLE)/parts.a $(LIB)
	@echo "  LINK $@"
	$(CC) $(SAN) $^ -o $@ $(FORMAT_LIBS) -lm $(LIBS)

# companion: examples/companion, its parts and those of replay.
COMPANION := $(filter-out %/companion.c,$(wildcard examples/companion/*.c))
$(EXAMPLE)/companion/parts.a: $(COMPANION:%.c=$(BUILD)/%.o) $(EXAMPLE)/companion/view_page.o
	@rm -f $@
	$(AR) rcs $@ $^

$(EXAMPLE)/companion/source_gst.o: EXTRA = $(if $(HAVE_GST),-DHAVE_GST $(GST_FLAGS))
$(EXAMPLE)/companion/uxrce.o: EXTRA = $(if $(HAVE_DDS),-DHAVE_DDS)

# Page of companion --view with its HTTP head, as an array.
$(EXAMPLE)/companion/view_page.c: examples/companion/view.html
	@mkdir -p $(@D)
	@{ echo '#include "examples/companion/view.h"'; echo 'const char view_page[] = {'; \
	  { printf 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n'; \
	    printf "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'\r\n"; \
	    printf 'Content-Length: %d\r\n\r\n' $$(wc -c <$<); cat $<; } | od -An -v -tx1 | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; \
	  echo '};'; echo 'const size_t view_page_bytes = sizeof view_page;'; } >$@
$(EXAMPLE)/companion/view_page.o: $(EXAMPLE)/companion/view_page.c examples/companion/view.h
	@echo "  CC   $@"
	$(CC) $(ALL_CFLAGS) -I. -c $< -o $@

# Bench and board: examples/hil, with parts of the companion and of replay.
HIL := $(filter-out %/bench.c %/board.c %/sitl.c,$(wildcard examples/hil/*.c))
$(EXAMPLE)/hil/parts.a: $(HIL:%.c=$(BUILD)/%.o)
	@rm -f $@
	$(AR) rcs $@ $^
# Calls of a step that can be made to fail: examples/hil/gpu_fault.c.
GPU_CALLS := cudaPointerGetAttributes cudaMemcpyAsync cudaGraphLaunch cudaStreamQuery cudaStreamSynchronize
$(BUILD)/hil-board: GPU_FAULT = $(if $(filter 1,$(CUDA)),$(addprefix -Wl$(comma)--wrap=,$(GPU_CALLS)))
$(BUILD)/hil-bench $(BUILD)/hil-board: $(BUILD)/hil-%: $(EXAMPLE)/hil/%.o $(EXAMPLE)/hil/parts.a $(EXAMPLE)/companion/parts.a $(EXAMPLE)/parts.a $(LIB)
	@echo "  LINK $@"
	$(CC) $(SAN) $^ -o $@ $(GPU_FAULT) $(FORMAT_LIBS) -lm $(LIBS)

$(BUILD)/sitl-vehicle: $(EXAMPLE)/hil/sitl.o $(EXAMPLE)/hil/parts.a $(EXAMPLE)/companion/parts.a $(EXAMPLE)/parts.a $(LIB)
	@echo "  LINK $@"
	$(CC) $(SAN) $^ -o $@ $(FORMAT_LIBS) -lm $(LIBS)

$(BUILD)/companion: $(EXAMPLE)/companion/companion.o $(EXAMPLE)/companion/parts.a $(EXAMPLE)/parts.a $(LIB)
	@echo "  LINK $@"
	$(CC) $(SAN) $^ -o $@ $(FORMAT_LIBS) $(GST_LIBS) $(DDS_LIBS) -lm $(LIBS)

include src/install.mk
include tests/tests.mk

docs: ## Reference of vfront.h by Doxygen: build/docs/html/index.html; a warning is an error
	@mkdir -p $(BUILD)/docs
	{ cat examples/Doxyfile; echo 'OUTPUT_DIRECTORY = $(BUILD)/docs'; } | doxygen -

clean: ## Removes what was built
	rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
