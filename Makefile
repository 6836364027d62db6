# SPDX-License-Identifier: MIT
# vfront. `make help` lists the targets, `make show` the settings.

## Settings, each to be given on the command line:
##   CFG=file.h      config that overrides vfront_cfg.h
##   CUDA=0|1        kernels and CUDA port; without it: 1 where nvcc is found
##   CUDA_ARCH="..." compute capabilities, e.g. "62 72 87"; the first and the last also as PTX. Never asked of this machine
##   CUDA_HOME=dir   CUDA toolkit
##   CUBLAS=1        VFRONT_CUBLAS 1: small systems through cuBLAS; CUBLAS_LIBS="..." links another than the toolkit's
##   CROSS=prefix-   cross compilers, e.g. aarch64-linux-gnu-
##   EXEC=program    runs what was cross-built
##   BUILD=dir       where everything is built
##   WERROR=1        warnings are errors
##   SANITIZE=list   host sanitizers, e.g. address,undefined
##   V=1             shows every command
CC        := $(if $(CROSS),$(CROSS)gcc,$(if $(filter default undefined,$(origin CC)),gcc,$(CC)))
AR        := $(CROSS)ar
NM        := $(CROSS)nm
SIZE      := $(CROSS)size
MACHINE   := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
BUILD     ?= build$(if $(CROSS),/$(MACHINE))
EXEC      ?= $(if $(CROSS),qemu-$(MACHINE)-static -L /usr/$(CROSS:-=))

# A cross build takes the toolkit that tests/cuda118.sh lays out, unless another is named on the command line; never this machine's.
ifneq ($(CROSS),)
ifneq ($(origin CUDA_HOME),command line)
CUDA_HOME := $(abspath $(wildcard build/cross/cuda-11.8))
endif
nvcc_found := $(wildcard $(CUDA_HOME)/bin/nvcc)
ifeq ($(nvcc_found)$(CUDA),)
$(warning no CUDA toolkit for $(CROSS): host port only; tests/cuda118.sh build/cross/cuda-11.8 gets one, or give CUDA_HOME=)
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
FLAGS  := -I. $(if $(CFG),-DVFRONT_USER_CFG='"$(abspath $(CFG))"') $(if $(filter 1,$(CUDA)),-DVFRONT_CUDA) $(if $(filter 1,$(CUBLAS)),-DVFRONT_CUBLAS=1)
# What the config says of it, wherever it says so.
HAS_CUBLAS := $(if $(filter 1,$(CUDA)),$(shell printf '\043include "vfront_cfg.h"\nVFRONT_CUBLAS' | $(CC) $(FLAGS) -E -P -xc - | tail -1))
SAN    := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -g -DVF_NO_CLONES)
CFLAGS ?= $(if $(SANITIZE),-O1,-O3)# sanitizers slow compilers down: src/ego.c takes 74 s with -O3, 12 s with -O1
ALL_CFLAGS = -std=c11 $(CFLAGS) $(WARN_C) -ffp-contract=off -fno-math-errno -fno-trapping-math -ffunction-sections $(FLAGS) $(SAN) -MMD -MP $(if $(filter 1,$(CUDA)),-isystem $(CUDA_INC))
# Machine code for each, and PTX of the first and the last, from which the driver makes code for any other GPU at vfront_init().
GENCODE = $(foreach a,$(CUDA_ARCH),-gencode arch=compute_$(a),code=sm_$(a)) \
          $(foreach a,$(sort $(firstword $(CUDA_ARCH)) $(lastword $(CUDA_ARCH))),-gencode arch=compute_$(a),code=compute_$(a))
comma := ,
NVCCFLAGS = -std=c++14 -O3 -fmad=false -prec-div=true -prec-sqrt=true -ftz=false $(GENCODE) $(if $(CUDA_CXX),-ccbin $(CUDA_CXX)) \
            $(if $(CROSS),-target-dir $(MACHINE)-linux) -Wno-deprecated-gpu-targets $(if $(WERROR),-Werror all-warnings) \
            -Xcompiler -Wall$(comma)-Wextra$(comma)-fno-exceptions$(comma)-fno-rtti$(comma)-fno-threadsafe-statics$(comma)-ffp-contract=off \
            $(FLAGS) $(NVCC_EXTRA)
CUBLAS_LIBS ?= $(if $(wildcard $(CUDA_LIB)/libcublas.so),-lcublas -Wl$(comma)-rpath$(comma)$(CUDA_LIB),-lcublas_static -lcublasLt_static -lculibos -lstdc++ -lm)
LIBS = $(if $(filter 1,$(CUDA)),-L$(CUDA_LIB) $(if $(filter 1,$(HAS_CUBLAS)),$(CUBLAS_LIBS)) -lcudart_static) -lpthread -ldl -lrt

STAGES  := $(shell awk -F '[^a-z_A-Z]+' '/^VF_STAGE/ {print $$2}' src/stages.def)
SRC     := $(wildcard src/*.c) port/host/host.c $(if $(filter 1,$(CUDA)),port/cuda/cuda.c)
KERNELS := $(if $(filter 1,$(CUDA)),$(STAGES:%=kernels/%.cu))
OBJ     := $(SRC:%.c=$(BUILD)/%.o) $(KERNELS:%.cu=$(BUILD)/%.cu.o)
LIB     := $(BUILD)/libvfront.a

# What is run is shown in short; V=1 shows it in full.
ifndef V
.SILENT:
endif
.PHONY: all lib help show clean test check golden quality features matching stereo dense ego speed size stack symbols asan asan-run clang configs gpu-proof
all: lib $(BUILD)/minimal $(BUILD)/replay ## Library, example and replay

lib: $(LIB) ## The library, libvfront.a

help: ## This list
	@sed -n 's/^## \{0,1\}//p' Makefile; echo; sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

show: ## The settings in force
	@echo "CC=$(CC) MACHINE=$(MACHINE) CUDA=$(CUDA) NVCC=$(NVCC) CUDA_ARCH=$(CUDA_ARCH) BUILD=$(BUILD) CFG=$(CFG)"

$(LIB): $(OBJ)
	@rm -f $@
	@echo "  AR   $@"
	$(AR) rcs $@ $^

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D) && echo "  CC   $@"
	$(CC) $(ALL_CFLAGS) $(EXTRA_$(basename $(notdir $<))) -c $< -o $@

$(BUILD)/%.cu.o: %.cu Makefile
	@mkdir -p $(@D) && echo "  NVCC $@ ($(CUDA_ARCH))"
	$(NVCC) $(NVCCFLAGS) -MMD -MF $(@:.o=.d) -c $< -o $@

# Pictures and yaml: libraries where they are installed, for tools and tests only.
has = $(shell echo 'int main(void){return 0;}' | $(CC) -xc -include $(1) - $(2) -o /dev/null 2>/dev/null && echo 1)
HAVE_PNG  := $(call has,png.h,-lpng)
HAVE_YAML := $(call has,yaml.h,-lyaml)
FORMATS   := $(if $(HAVE_PNG),-DHAVE_PNG) $(if $(HAVE_YAML),-DHAVE_YAML)
FORMAT_LIBS := $(if $(HAVE_PNG),-lpng) $(if $(HAVE_YAML),-lyaml)
EXTRA_replay = $(FORMATS)
EXTRA_calibration = $(FORMATS)
EXTRA_picture = $(FORMATS)
EXTRA_vfbench = -Wno-strict-prototypes -Wno-pedantic

EXAMPLE := $(BUILD)/examples
TOOLS   := calibration record disparity rectified flight trajectory# what of them has a test of its own
$(BUILD)/minimal: $(EXAMPLE)/minimal.o $(LIB)
	@echo "  LINK $@"
	$(CC) $(SAN) $^ -o $@ $(LIBS)

$(BUILD)/replay: $(addprefix $(EXAMPLE)/,replay.o record.o dataset.o calibration.o truth.o pose.o trajectory.o accuracy.o motion.o plot.o text.o picture.o synthetic.o overlay.o rectified.o disparity.o) $(LIB)
	@echo "  LINK $@"
	$(CC) $(SAN) $^ -o $@ $(FORMAT_LIBS) -lm $(LIBS)

# ---- tests -----------------------------------------------------------------------------------------------------------------------
# Three libraries: the one that is built, one with a small config (tests/cfg_small.h), and the small one with the CUDA port on a
# runtime without a GPU (tests/fake_cudart.c), which is how port/cuda is tested on any machine.
TEST    := $(BUILD)/tests
SMALL   := $(BUILD)/small
FAKE    := $(BUILD)/fake
PARTS   := lens motion essential perspective# what is no stage
ORACLES := ingest rectify pyramid scale detect refill select bearing describe stereo match ego report track $(PARTS)
OWN     := dense stixel# stages that the standard config does not have: tests/cfg_<stage>.h does
PORTS   := init api points same alloc
T_CFLAGS = -std=c11 $(if $(SANITIZE),-O1,-O2) -g $(WARN) -ffp-contract=off -fno-math-errno -fno-trapping-math -I. $(SAN) -MMD -MP
S_CFLAGS = $(T_CFLAGS) -DVFRONT_USER_CFG='"tests/cfg_small.h"'
F_CFLAGS = $(S_CFLAGS) -O3 -DVFRONT_CUDA $(if $(filter 1,$(CUDA)),-isystem $(CUDA_INC),-isystem tests/fake)
WRAP    := $(shell awk -F '[^A-Za-z_0-9]+' '/^CUDA_CALL|^CUDA_TURNED/ {print "-Wl,--wrap=" $$2}' tests/cuda_calls.def)
WRAP_STAGES := $(STAGES:%=-Wl,--wrap=vf_%_cuda) -Wl,--wrap=cudaGetLastError -Wl,--wrap=vf_stixel_shared
FAKE_OBJ := $(patsubst %.c,$(FAKE)/%.o,$(wildcard src/*.c) port/host/host.c port/cuda/cuda.c tests/fake_cudart.c tests/pair.c tests/scene.c)

$(ORACLES:%=$(TEST)/%): $(TEST)/%: tests/%.c $(LIB)
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) $(FLAGS) $< $(LIB) -o $@ -lcmocka -lm $(LIBS)

$(OWN:%=$(TEST)/%): $(TEST)/%: tests/%.c tests/cfg_%.h tests/stand.h $(wildcard src/*.c src/*.h src/*.def port/*.h port/host/*) vfront.h vfront_cfg.h
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) -DVFRONT_USER_CFG='"tests/cfg_$*.h"' $< $(wildcard src/*.c) port/host/host.c $(if $(filter stixel,$*),examples/record.c examples/motion.c examples/trajectory.c examples/accuracy.c examples/pose.c) -o $@ -lcmocka -lm

$(TEST)/calibration: tests/calibration.c $(EXAMPLE)/calibration.o $(EXAMPLE)/pose.o $(EXAMPLE)/text.o
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) $(FLAGS) $^ -o $@ $(FORMAT_LIBS) -lcmocka -lm

$(TEST)/record: $(addprefix $(EXAMPLE)/,record.o overlay.o motion.o trajectory.o accuracy.o pose.o)
$(TEST)/disparity: $(addprefix $(EXAMPLE)/,disparity.o picture.o)
$(TEST)/rectified: $(EXAMPLE)/rectified.o
$(TEST)/flight: $(EXAMPLE)/synthetic.o
$(TEST)/trajectory: $(addprefix $(EXAMPLE)/,trajectory.o truth.o accuracy.o motion.o plot.o pose.o text.o)
$(TEST)/record $(TEST)/disparity $(TEST)/rectified $(TEST)/flight $(TEST)/trajectory: $(TEST)/%: tests/%.c $(LIB)
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) $(FLAGS) $(FORMATS) $< $(filter %.o,$^) $(LIB) -o $@ $(FORMAT_LIBS) -lcmocka -lm $(LIBS)

$(SMALL)/libvfront.a: $(SRC) $(KERNELS) $(wildcard src/*.h src/*.def port/*.h port/*/*.h kernels/*.cuh) vfront.h vfront_cfg.h tests/cfg_small.h
	+$(MAKE) --no-print-directory lib BUILD=$(SMALL) CFG=tests/cfg_small.h
# replay with disparities and stixels.
$(SMALL)/replay: $(SMALL)/libvfront.a $(wildcard examples/*)
	+$(MAKE) --no-print-directory $@ BUILD=$(SMALL) CFG=tests/cfg_small.h
$(PORTS:%=$(SMALL)/%) $(SMALL)/fault $(SMALL)/fuzz: $(SMALL)/%: tests/%.c tests/pair.c tests/scene.c $(SMALL)/libvfront.a
	$(CC) $(S_CFLAGS) $(filter-out -DVFRONT_USER_CFG%,$(FLAGS)) $(if $(filter 1,$(CUDA)),-isystem $(CUDA_INC)) $(filter %.c,$^) \
	  $(SMALL)/libvfront.a -o $@ $(if $(filter 1,$(CUDA)),$(if $(filter alloc fault,$*),$(WRAP) $(if $(filter fault,$*),$(WRAP_STAGES)))) -lcmocka -lm $(LIBS)

$(FAKE)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(F_CFLAGS) -c $< -o $@
$(PORTS:%=$(FAKE)/%) $(FAKE)/fault: $(FAKE)/%: $(FAKE)/tests/%.o $(FAKE_OBJ)
	$(CC) $(SAN) $^ -o $@ $(if $(filter alloc fault,$*),$(WRAP) $(if $(filter fault,$*),$(WRAP_STAGES))) -lcmocka -lm -lpthread

# The same with cuBLAS, where its header is.
HAVE_CUBLAS := $(if $(filter 1,$(CUDA)),$(wildcard $(CUDA_INC)/cublas_v2.h))
FAKE_CUBLAS_SRC := tests/cublas.c $(patsubst $(FAKE)/%.o,%.c,$(FAKE_OBJ))
$(FAKE)/cublas: $(FAKE_CUBLAS_SRC) $(wildcard src/*.h src/*.def port/*.h port/*/*.h tests/pair.h tests/scene.h) vfront.h vfront_cfg.h tests/cfg_small.h
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(F_CFLAGS)) -DVFRONT_CUBLAS=1 $(FAKE_CUBLAS_SRC) -Wl,--wrap=vf_ego_cuda -o $@ -lcmocka -lm -lpthread

$(BUILD)/bridge.so: tests/bridge.c $(wildcard src/*.h) vfront.h vfront_cfg.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -O3 $(WARN) -ffp-contract=off -fno-math-errno -fno-trapping-math -I. -fPIC -shared $< -o $@
$(BUILD)/bridge_track.so: tests/bridge_track.c $(wildcard src/*.h src/*.c) vfront.h vfront_cfg.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -O3 $(WARN) -ffp-contract=off -fno-math-errno -fno-trapping-math -I. -DVFRONT_TRACKS=1024 -fPIC -shared $< \
	  src/ingest.c src/pyramid.c src/scale.c src/detect.c src/patch.c src/tuning.c -o $@ -lm

$(BUILD)/bridge_orb.so: tests/bridge_orb.c $(wildcard src/*.h src/*.c) vfront.h vfront_cfg.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -O3 $(WARN) -ffp-contract=off -fno-math-errno -fno-trapping-math -I. -DVFRONT_CAMERAS=1 -DVFRONT_KEYPOINTS=32768 -fPIC -shared $< \
	  src/ingest.c src/scale.c src/smooth.c src/describe.c src/tuning.c -o $@ -lm
$(BUILD)/bridge_lens.so: tests/bridge_lens.c src/lens.c $(wildcard src/*.h) vfront.h vfront_cfg.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -O3 $(WARN) -ffp-contract=off -fno-math-errno -fno-trapping-math -I. -fPIC -shared $< src/lens.c -o $@

$(BUILD)/bridge_rectify.so: tests/bridge_rectify.c $(wildcard src/*.h src/*.c port/host/*) vfront.h vfront_cfg.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -O3 $(WARN) -ffp-contract=off -fno-math-errno -fno-trapping-math -I. -DVFRONT_CAMERAS=2 -fPIC -shared $< $(wildcard src/*.c) port/host/host.c -o $@ -lm

# Key points on any picture, through the public interface, with room for many.
FEATURES_CFG = -DVFRONT_CAMERAS=1 -DVFRONT_WIDTH=1280 -DVFRONT_HEIGHT=1024 -DVFRONT_CELLS=16384 -DVFRONT_CULL_CELLS=262144 -DVFRONT_KEYPOINTS=32768
$(BUILD)/bridge_features.so: tests/bridge_features.c tests/settings.h $(wildcard src/*.h src/*.c port/host/*) vfront.h vfront_cfg.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -O3 $(WARN) -ffp-contract=off -fno-math-errno -fno-trapping-math -I. $(FEATURES_CFG) -fPIC -shared $< $(wildcard src/*.c) port/host/host.c -o $@ -lm

# Stereo on any pair, through the public interface.
STEREO_CFG = -DVFRONT_WIDTH=1344 -DVFRONT_HEIGHT=1120
$(BUILD)/bridge_stereo.so: tests/bridge_stereo.c tests/rig.h tests/settings.h $(wildcard src/*.h src/*.c port/host/*) vfront.h vfront_cfg.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -O3 $(WARN) -ffp-contract=off -fno-math-errno -fno-trapping-math -I. $(STEREO_CFG) -fPIC -shared $< $(wildcard src/*.c) port/host/host.c -o $@ -lm

# Disparities of any pair, through the public interface.
DENSE_CFG = -DVFRONT_WIDTH=1344 -DVFRONT_HEIGHT=1120 -DVFRONT_DENSE=1 -DVFRONT_DISPARITIES=256 -DVFRONT_STIXELS=1
$(BUILD)/bridge_dense.so: tests/bridge_dense.c tests/settings.h $(wildcard src/*.h src/*.c port/host/*) vfront.h vfront_cfg.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -O3 $(WARN) -ffp-contract=off -fno-math-errno -I. $(DENSE_CFG) -fPIC -shared $< $(wildcard src/*.c) port/host/host.c -o $@ -lm

# Partners in the frame before, through the public interface.
$(BUILD)/bridge_match.so: tests/bridge_match.c $(wildcard src/*.h src/*.c port/host/*) vfront.h vfront_cfg.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -O3 $(WARN) -ffp-contract=off -fno-math-errno -fno-trapping-math -I. -DVFRONT_CAMERAS=1 -DVFRONT_WIDTH=1280 -DVFRONT_HEIGHT=512 -fPIC -shared $< \
	  $(wildcard src/*.c) port/host/host.c -o $@ -lm


# Motions of a camera: of any pairs, and of sequences, with room for many hypotheses.
EGO_CFG = -DVFRONT_CAMERAS=2 -DVFRONT_WIDTH=1280 -DVFRONT_HEIGHT=512 -DVFRONT_TRACKS=1024 -DVFRONT_KEYPOINTS=4096 -DVFRONT_HYPOTHESES=4096
$(BUILD)/bridge_ego.so: tests/bridge_ego.c tests/rig.h tests/settings.h examples/synthetic.c $(wildcard src/*.h src/*.c port/host/*) vfront.h vfront_cfg.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -O3 $(WARN) -ffp-contract=off -fno-math-errno -fno-trapping-math -I. $(EGO_CFG) -fPIC -shared $< examples/synthetic.c \
	  $(filter-out src/ego.c,$(wildcard src/*.c)) port/host/host.c -o $@ -lm

# The accuracy of a path, as replay has it.
TRAJECTORY := $(addprefix examples/,trajectory.c truth.c accuracy.c pose.c text.c)
$(BUILD)/bridge_trajectory.so: tests/bridge_trajectory.c $(TRAJECTORY) $(TRAJECTORY:.c=.h)
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 $(WARN) -ffp-contract=off -I. -fPIC -shared $(filter %.c,$^) -o $@ -lm

$(BUILD)/digest: tests/digest.c $(LIB)
	$(CC) $(T_CFLAGS) $(FLAGS) $< $(LIB) -o $@ $(LIBS)
$(BUILD)/backwards: tests/digest.c src/ego.c $(LIB) # loops over what is independent, from the last to the first: src/team.h
	$(CC) $(T_CFLAGS) $(FLAGS) $(EXTRA_ego) -DVF_TEAM_BACKWARDS $(filter %.c,$^) $(LIB) -o $@ $(LIBS)
$(BUILD)/size: tests/size.c
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) $(FLAGS) $< -o $@

$(BUILD)/vfcheck: $(TEST)/vfcheck.o $(TEST)/vfbench.o $(TEST)/floor.cu.o $(LIB)
	@echo "  LINK $@"
	$(CC) $(SAN) $^ -o $@ $(LIBS)

TEST_PROGRAMS := $(ORACLES:%=$(TEST)/%) $(OWN:%=$(TEST)/%) $(TOOLS:%=$(TEST)/%) $(PORTS:%=$(SMALL)/%) $(PORTS:%=$(FAKE)/%) $(FAKE)/fault $(if $(HAVE_CUBLAS),$(FAKE)/cublas) $(BUILD)/digest $(BUILD)/backwards $(BUILD)/bridge.so \
    $(BUILD)/bridge_track.so $(BUILD)/bridge_features.so $(BUILD)/bridge_orb.so $(BUILD)/bridge_lens.so $(BUILD)/bridge_rectify.so $(BUILD)/bridge_trajectory.so $(BUILD)/minimal $(BUILD)/replay $(SMALL)/replay $(LIB) $(if $(filter 1,$(CUDA)),$(BUILD)/vfcheck $(SMALL)/fault)
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)

test: $(TEST_PROGRAMS) ## All that needs no GPU, and with one the parity of kernels and host forms
	@tests/run.sh --log $(BUILD)/test-log $(ORACLES:%='$(EXEC) $(TEST)/%') $(OWN:%='$(EXEC) $(TEST)/%') $(PORTS:%='$(EXEC) $(SMALL)/%') $(PORTS:%='$(EXEC) $(FAKE)/%') \
	  '$(EXEC) $(FAKE)/fault' $(if $(HAVE_CUBLAS),'$(EXEC) $(FAKE)/cublas') '$(EXEC) $(BUILD)/digest tests/golden.txt' '$(EXEC) $(BUILD)/backwards tests/golden.txt' $(TOOLS:%='$(EXEC) $(TEST)/%') 'tests/replay.sh $(BUILD)/replay $(SMALL)/replay' \
	  '$(PYTHON) tests/opencv_fast.py $(BUILD)/bridge.so' '$(PYTHON) tests/quality.py $(BUILD)/bridge_track.so' \
	  '$(PYTHON) tests/opencv_orb.py $(BUILD)/bridge_orb.so' '$(PYTHON) tests/opencv_lens.py $(BUILD)/bridge_lens.so' '$(PYTHON) tests/opencv_rectify.py $(BUILD)/bridge_rectify.so' \
	  '$(PYTHON) tests/shapes.py $(BUILD)/bridge_features.so --quick' '$(PYTHON) tests/trajectory.py $(BUILD)/bridge_trajectory.so $(BUILD)/replay' \
	  $(foreach l,$(LIB) $(SMALL)/libvfront.a,'tests/symbols.sh $l $(NM) $(if $(filter 1,$(HAS_CUBLAS)),cublas)') 'tests/readme.sh' 'tests/header.sh $(CC)' 'tests/config.sh $(CC)' '$(BUILD)/minimal' 'tests/proof.sh' \
	  $(if $(filter 1,$(CUDA)),'$(BUILD)/vfcheck' '$(SMALL)/fault',"echo parity: NOT RUN - this build has no CUDA; exit 77")

golden: $(BUILD)/digest ## Writes tests/golden.txt anew, on purpose only
	$(BUILD)/digest --write tests/golden.txt

quality: $(BUILD)/bridge_track.so ## The tracker beside OpenCV's on real pictures with ground truth
	$(PYTHON) tests/quality.py $<

features: $(BUILD)/bridge_features.so ## Key points beside OpenCV's ORB and FAST on the Oxford sets, and bounded rectification on drawn shapes
	$(PYTHON) tests/features.py $<
	$(PYTHON) tests/features.py $< --set detect_arc_most=15
	$(PYTHON) tests/shapes.py $<

stereo: $(BUILD)/bridge_stereo.so ## Depth of key points beside ORB and a matcher along rows, on real and rendered pairs
	$(PYTHON) tests/stereo.py $<

dense: $(BUILD)/bridge_dense.so ## Disparity of every pixel beside OpenCV's semi-global matcher: how good, and on one thread how fast; stixels' time
	$(PYTHON) tests/dense.py $<

matching: $(BUILD)/bridge_match.so ## Partners in the frame before, beside OpenCV's ORB and brute-force matcher, on sequences with ground truth
	$(PYTHON) tests/matching.py $<

ego: $(BUILD)/bridge_ego.so ## Motions beside OpenCV's, on problems drawn and on sequences with ground truth
	$(PYTHON) tests/ego.py $<

speed: $(BUILD)/replay ## The host port beside OpenCV on one thread: make speed PICTURES=folder
	$(PYTHON) tests/opencv_speed.py $< $(PICTURES)

size: $(BUILD)/size $(LIB) ## Bytes of host, pinned and device memory, by stage, and of code
	@$(BUILD)/size
	@echo; $(SIZE) -t $(LIB) | tail -1

stack: ## Deepest stack on the host
	@tests/stack.sh $(CC) '$(filter-out -MMD -MP,$(ALL_CFLAGS))' 131072

symbols: $(LIB) ## What the archive exports and asks for
	@tests/symbols.sh $(LIB) $(NM) $(if $(filter 1,$(HAS_CUBLAS)),cublas)

check: ## The slow rest: sanitizers, fuzzing, clang, other configs, the cross build
	@tests/run.sh --log $(BUILD)/check-log '$(MAKE) -s asan' '$(MAKE) -s clang' '$(MAKE) -s configs' '$(MAKE) -s stack' '$(MAKE) -s size' 'tests/cross.sh $(BUILD)/cross'

asan: ## Tests and fuzzing under the address and undefined behaviour sanitizers
	+$(MAKE) -s CUDA=0 BUILD=$(BUILD)/asan SANITIZE=address,undefined WERROR=1 asan-run
asan-run: $(ORACLES:%=$(TEST)/%) $(OWN:%=$(TEST)/%) $(TOOLS:%=$(TEST)/%) $(SMALL)/init $(SMALL)/api $(SMALL)/points $(SMALL)/same $(SMALL)/fuzz $(BUILD)/replay
	@for t in $(ORACLES:%=$(TEST)/%) $(OWN:%=$(TEST)/%) $(TOOLS:%=$(TEST)/%) $(SMALL)/init $(SMALL)/api $(SMALL)/points $(SMALL)/same '$(SMALL)/fuzz --seconds 30' '$(BUILD)/replay --frames 4 --quiet'; do echo "== $$t"; $$t || exit 1; done

clang: ## Everything built by clang, warnings as errors, and its digests; all stages, and the least config
	+$(MAKE) -s CC=clang CUDA=0 BUILD=$(BUILD)/clang WERROR=1 all symbols $(BUILD)/clang/digest
	+for c in small min; do $(MAKE) -s CC=clang CUDA=0 BUILD=$(BUILD)/clang/$$c CFG=tests/cfg_$$c.h WERROR=1 symbols || exit 1; done
	$(BUILD)/clang/digest tests/golden.txt

configs: ## The smallest and the largest config, and one without the host port, built and run
	+for c in min max nohost; do $(MAKE) -s CUDA=0 CFG=tests/cfg_$$c.h BUILD=$(BUILD)/cfg-$$c WERROR=1 lib $(BUILD)/cfg-$$c/size || exit 1; $(BUILD)/cfg-$$c/size; done

gpu-proof: ## Proves and times the kernels on this machine's GPU, writes tests/gpu-proof.txt
	tests/gpu-proof.sh $(BUILD) $(MAKE) --no-print-directory

clean: ## Removes what was built
	rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
