# SPDX-License-Identifier: MIT
# Tests: how they are built and run. Included by the Makefile; tests/README.md says what proves what.
.PHONY: dockerfile cross-counts pose-graph laps kidnapped loops recording coverage coverage-run evidence test-run slow slow-run golden features choices quality matching partner stereo dense stixels ego motions honesty expect truth predict rig propagate vio batch nav fitted start simulate worlds worlds-rendered worlds-long integrity vio-speed orin faults flights speed size stack symbols asan asan-run asan-long asan-long-run clang configs archs emulate gpu-proof tsan
.PHONY: mavlink
.SECONDEXPANSION:
.SECONDARY:

TEST    := $(BUILD)/tests
ORACLES := $(basename $(notdir $(wildcard tests/image/*.c tests/camera/*.c tests/features/*.c tests/tracking/*.c tests/geometry/*.c tests/ego/*.c tests/imu/*.c tests/vio/*.c tests/vio_init/*.c tests/nav/*.c tests/map/*.c tests/result/*.c)))
MAPS    := recall relpose keyframe loop map# likewise, all of them in tests/config/map.h
ORACLES := $(filter-out bridge_% simulate worlds worlds_rendered drawn_place endless $(MAPS),$(ORACLES))# stages and their arithmetic, on the standard config
OWN     := dense stixel# stages that the standard config leaves out: tests/config/<stage>.h has them
TOOLS   := picture nav imu_fault recording tuning_names fault_script fault_apply calibration calibration_other imu_samples motion_nees results disparity overlay rectified flight course trajectory# parts of the examples
PORTS   := init api info clock imu points partners prior fields invariance alloc ownership idle missing maps# through the public interface, on every port
FAULTS  := fault late memory# faults of the device on the CUDA port
FAILOVER := failover airborne return# fail-over from it

T_CFLAGS = -std=c11 -O1 -g $(WARN) $(EXACT) -I. -Isrc $(SAN)
CONFIG   = -DVFRONT_USER_CFG='"$(abspath tests/config/$(1).h)"'
FIXTURE := $(wildcard tests/fixture/*.h tests/core/*.h tests/*/*_oracle.h) $(HEADERS)
WRAP    := $(shell awk -F '[^A-Za-z_0-9]+' '/^CUDA_CALL|^CUDA_TURNED/ {print "-Wl,--wrap=" $$2}' tests/fake/cuda_calls.def)
APART   := $(shell sed -n '/^\#define VF_APART_BE/s/ X(\([a-z]*\), \([a-z]*\))/ \1_\2/gp' port/cuda/cuda.h | sed 's/^.define [^ ]*//')# launchers of stages apart from the rest
WRAP_STAGES := $(STAGES:%=-Wl,--wrap=vf_%_cuda) $(APART:%=-Wl,--wrap=vf_%_cuda) -Wl,--wrap=cudaGetLastError
WRAP_FAILOVER := $(addprefix -Wl$(comma)--wrap=,cudaGraphLaunch cudaStreamQuery cudaPointerGetAttributes cudaMemcpyAsync cudaStreamSynchronize)
wraps   = $(if $(filter $(FAILOVER),$(1)),$(WRAP_FAILOVER))$(if $(filter alloc hang $(FAULTS),$(1)),$(WRAP) $(if $(filter hang $(FAULTS),$(1)),$(WRAP_STAGES)))
WRAP_HOST := $(STAGES:%=-Wl,--wrap=vf_%_host)

# ---- oracles ------------------------------------------------------------------------------------------------------------------------

$(ORACLES:%=$(TEST)/%): $(TEST)/%: $$(wildcard tests/*/$$*.c tests/*/$$*_*.h) $(LIB) $(FIXTURE)
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) $(FLAGS) $< $(LIB) -o $@ -lcmocka -lm $(LIBS)

$(TEST)/simulation_check $(TEST)/stationary $(TEST)/vio_consistency $(TEST)/stereo_check $(TEST)/damping $(TEST)/align_frame: $(wildcard tests/vio/simulation*.h) tests/vio/trajectory.h
$(TEST)/drawn_faults: $(wildcard tests/vio/drawn_*.h) tests/vio/trajectory.h

$(TOOLS:%=$(TEST)/%): $(TEST)/%: tests/examples/%.c $(EXAMPLE)/parts.a $(LIB) $(FIXTURE)
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) $(FLAGS) $(FORMATS) $< $(EXAMPLE)/parts.a $(LIB) -o $@ $(FORMAT_LIBS) -lcmocka -lm $(LIBS)

CALIBRATE := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/calibrate.c,$(wildcard examples/calibrate/*.c)))
$(TEST)/finding: tests/examples/finding.c $(CALIBRATE) $(EXAMPLE)/parts.a $(LIB) $(FIXTURE)
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) $(FLAGS) $(FORMATS) $< $(CALIBRATE) $(EXAMPLE)/parts.a $(LIB) -o $@ $(FORMAT_LIBS) -lcmocka -lm $(LIBS)

WRAP_VIDEO := $(addprefix -Wl$(comma)--wrap=,open close ioctl mmap munmap poll)# the driver of video devices is played by the test
FLYING  := health uxrce set_clock signing links view source_gst iio trust odometry timesync sender resume peer link obstacles checkpoint check source_v4l2# parts of the companion
BENCHED := pilot sitl fuzz_readers# parts of the bench
$(FLYING:%=$(TEST)/%): $(TEST)/%: tests/companion/%.c $(EXAMPLE)/companion/parts.a $(EXAMPLE)/parts.a $(LIB) $(FIXTURE)
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) $(FLAGS) $< $(filter %.a,$^) -o $@ $(if $(filter source_v4l2,$*),$(WRAP_VIDEO)) $(if $(filter link,$*),-Wl$(comma)--wrap=write -Wl$(comma)--wrap=ioctl) $(FORMAT_LIBS) $(GST_LIBS) $(if $(filter links uxrce,$*),$(DDS_LIBS)) -lcmocka -lm $(LIBS)

$(BENCHED:%=$(TEST)/%): $(TEST)/%: tests/hil/%.c $(EXAMPLE)/hil/parts.a $(EXAMPLE)/companion/parts.a $(EXAMPLE)/parts.a $(LIB) $(FIXTURE)
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) $(FLAGS) $< $(filter %.a,$^) -o $@ $(FORMAT_LIBS) -lcmocka -lm $(LIBS)

$(TEST)/steady: tests/core/steady.c $(EXAMPLE)/hil/parts.a $(EXAMPLE)/companion/parts.a $(EXAMPLE)/parts.a $(LIB) $(FIXTURE)
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) $(FLAGS) $(if $(filter 1,$(CUDA)),-isystem $(CUDA_INC)) $< $(filter %.a,$^) -o $@ $(FORMAT_LIBS) -lm $(LIBS)

$(TEST)/thread: tests/core/thread.c $(LIB) $(FIXTURE)
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) $(FLAGS) $< $(LIB) -o $@ -lcmocka -lm $(LIBS)

$(TEST)/hpp: tests/package/hpp.cpp examples/vfront.hpp $(LIB) $(FIXTURE)
	@mkdir -p $(@D)
	$(CXX) -std=c++11 -O1 $(WARN) -fno-exceptions $(FLAGS) $(SAN) $< $(LIB) -o $@ -lm $(LIBS)

# ---- libraries of other configs: tests/config/<name>.h, in build/config/<name> ------------------------------------------------------

# The CUDA port of the small one is for tests that need a GPU.
GPU := $(wildcard /dev/nvidia0 /dev/nvhost-gpu /dev/nvgpu)
SMALL := $(BUILD)/config/small
SMALL_CUDA := $(if $(GPU),$(CUDA),0)
$(BUILD)/config/%/libvfront.a: FORCE
	+$(MAKE) --no-print-directory BUILD=$(BUILD)/config/$* CFG=tests/config/$*.h CUDA=$(if $(filter small,$*),$(SMALL_CUDA),0) $@
$(BUILD)/config/%/examples/parts.a: $(BUILD)/config/%/libvfront.a FORCE
	+$(MAKE) --no-print-directory BUILD=$(BUILD)/config/$* CFG=tests/config/$*.h CUDA=$(if $(filter small,$*),$(SMALL_CUDA),0) $@
$(SMALL)/replay $(SMALL)/companion: $(SMALL)/examples/parts.a FORCE # with disparities and stixels
	+$(MAKE) --no-print-directory BUILD=$(SMALL) CFG=tests/config/small.h CUDA=$(SMALL_CUDA) $@
$(SMALL)/companion: $(SMALL)/replay # one make at a time in that folder, since they share objects
$(SMALL)/hil-bench: $(SMALL)/companion FORCE # one make at a time in that folder
	+$(MAKE) --no-print-directory BUILD=$(SMALL) CFG=tests/config/small.h CUDA=$(SMALL_CUDA) $@ $(SMALL)/hil-board
$(SMALL)/hil-board: $(SMALL)/hil-bench

$(OWN:%=$(TEST)/%): $(TEST)/%: tests/depth/%.c $(BUILD)/config/%/libvfront.a $(BUILD)/config/%/examples/parts.a $(FIXTURE)
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) $(call CONFIG,$*) $< $(BUILD)/config/$*/examples/parts.a $(BUILD)/config/$*/libvfront.a -o $@ $(FORMAT_LIBS) -lcmocka -lm

MAP := $(BUILD)/config/map
$(MAPS:%=$(TEST)/%): $(TEST)/%: tests/map/%.c tests/map/map_flight.h $(MAP)/libvfront.a $(FIXTURE)
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) $(call CONFIG,map) $< $(MAP)/libvfront.a -o $@ -lcmocka -lm
$(TEST)/report_loops: tests/result/report.c tests/result/report_oracle.h $(MAP)/libvfront.a $(FIXTURE)
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) $(call CONFIG,map) $< $(MAP)/libvfront.a -o $@ -lcmocka -lm
$(MAP)/companion: $(MAP)/replay # one make at a time in that folder
$(MAP)/digest $(MAP)/replay $(MAP)/companion: $(MAP)/libvfront.a FORCE
	+$(MAKE) --no-print-directory BUILD=$(MAP) CFG=tests/config/map.h CUDA=0 $@

$(SMALL)/hang $(SMALL)/return: $(BUILD)/tests/core/spin.cu.o
$(SMALL)/return: $(BUILD)/tests/core/trap.cu.o
$(SMALL)/gyro: $(SMALL)/examples/parts.a
$(SMALL)/carry $(FAILOVER:%=$(SMALL)/%) $(SMALL)/maps: tests/fixture/rendered.c $(SMALL)/examples/parts.a
$(addprefix $(SMALL)/,$(PORTS) $(FAULTS) hang $(FAILOVER) fuzz carry gyro): $(SMALL)/%: tests/core/%.c tests/fixture/pair.c tests/fixture/scene.c $(SMALL)/libvfront.a $(FIXTURE)
	$(CC) $(T_CFLAGS) $(call CONFIG,small) $(if $(filter 1,$(SMALL_CUDA)),-DVFRONT_CUDA -DVF_SPIN -isystem $(CUDA_INC)) $(filter %.c %.o %/parts.a,$^) \
	  $(SMALL)/libvfront.a -o $@ $(if $(filter 1,$(SMALL_CUDA)),$(call wraps,$*)) $(if $(filter ownership,$*),$(WRAP_HOST)) -lcmocka -lm $(LIBS)

# ---- the CUDA port on a runtime without a GPU: tests/fake/cudart.c ------------------------------------------------------------------

FAKE     := $(BUILD)/fake
FAKE_O   ?= -O3
F_CFLAGS  = $(T_CFLAGS) $(FAKE_O) $(call CONFIG,small) -DVFRONT_CUDA $(if $(filter 1,$(CUDA)),-isystem $(CUDA_INC),-isystem tests/fake)
FAKE_SRC := $(SRC) $(wildcard port/cuda/*.c) tests/fake/cudart.c tests/fixture/pair.c tests/fixture/scene.c
FAKE_OBJ := $(FAKE_SRC:%.c=$(FAKE)/%.o)
$(FAKE)/%.o: %.c $(BUILD)/settings-c
	@mkdir -p $(@D)
	$(CC) $(F_CFLAGS) -MMD -MP -c $< -o $@
# Rendered pictures for fail-over with a state of the IMU.
RENDERED := tests/fixture/rendered.c $(RENDERER)
$(FAILOVER:%=$(FAKE)/%) $(FAKE)/maps: $(RENDERED:%.c=$(FAKE)/%.o)
$(addprefix $(FAKE)/,$(PORTS) $(FAULTS) hang $(FAILOVER) fuzz): $(FAKE)/%: $(FAKE)/tests/core/%.o $(FAKE_OBJ)
	$(CC) $(SAN) $^ -o $@ $(call wraps,$*) $(if $(filter ownership,$*),$(WRAP_HOST)) -lcmocka -lm -lpthread

$(FAKE)/pace: $(FAKE)/tests/core/pace.o $(FAKE_OBJ)
	$(CC) $(SAN) $^ -o $@ $(addprefix -Wl$(comma)--wrap=,clock_gettime nanosleep sem_wait sem_timedwait sched_yield cudaGraphLaunch cudaGraphUpload cudaStreamQuery) -lcmocka -lm -lpthread

$(FAKE)/graph: $(FAKE)/tests/core/graph.o $(FAKE_OBJ)
	$(CC) $(SAN) $^ -o $@ -Wl,--wrap=cudaStreamEndCapture -Wl,--wrap=cudaGraphInstantiate -lcmocka -lm -lpthread

$(FAKE)/replay: $(patsubst $(BUILD)/%,$(SMALL)/%,$(LIVE) $(EXAMPLE)/replay/live.o)
$(patsubst $(BUILD)/%,$(SMALL)/%,$(LIVE) $(EXAMPLE)/replay/live.o): $(SMALL)/replay ; @: # made with it; not by a built-in rule
$(FAKE)/latency $(FAKE)/replay: $(FAKE)/%: $(FAKE)/examples/replay/%.o $(FAKE_OBJ) $(SMALL)/examples/parts.a
	$(CC) $(SAN) $(filter %.o,$^) $(SMALL)/examples/parts.a -o $@ $(FORMAT_LIBS) $(GST_LIBS) -lcmocka -lm -lpthread

# A board whose GPU can be made to fail.
$(FAKE)/hil-board: $(FAKE)/examples/hil/board.o $(FAKE)/examples/hil/gpu_fault.o $(FAKE_OBJ) $(SMALL)/hil-bench
	$(CC) $(SAN) $(filter %.o,$^) $(SMALL)/examples/hil/parts.a $(SMALL)/examples/companion/parts.a $(SMALL)/examples/parts.a -o $@ $(addprefix -Wl$(comma)--wrap=,$(GPU_CALLS)) $(FORMAT_LIBS) -lcmocka -lm -lpthread

# The same, as far as it sees CUDA's headers, on the interface of CUDA 10.2: tests/fake/cuda-10.2.
JETPACK4 := $(BUILD)/fake-10.2
J_SRC    := $(wildcard port/cuda/*.c) tests/fake/cudart.c
$(JETPACK4)/%.o: %.c $(HEADERS) $(FIXTURE) tests/fake/cuda-10.2/cuda_runtime_api.h tests/fake/cuda_runtime_api.h tests/fake/cuda_calls.def $(BUILD)/settings-c
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) -O3 -Werror $(call CONFIG,small) -DVFRONT_CUDA -isystem tests/fake/cuda-10.2 -c $< -o $@
$(addprefix $(JETPACK4)/,$(FAULTS) points): $(JETPACK4)/%: $(JETPACK4)/tests/core/%.o $(J_SRC:%.c=$(JETPACK4)/%.o) $(filter-out $(J_SRC:%.c=$(FAKE)/%.o),$(FAKE_OBJ))
	$(CC) $(SAN) $^ -o $@ $(call wraps,$*) -lcmocka -lm -lpthread

# The same with a cuBLAS that only fails: with the toolkit's header, where it has one.
HAVE_CUBLAS := $(if $(filter 1,$(CUDA)),$(wildcard $(CUDA_INC)/cublas_v2.h),1)
FAKE_CUBLAS := $(BUILD)/fake-cublas
$(FAKE_CUBLAS)/%.o: %.c $(BUILD)/settings-c
	@mkdir -p $(@D)
	$(CC) $(F_CFLAGS) -DVFRONT_CUBLAS=1 -MMD -MP -c $< -o $@
$(FAKE)/cublas: $(patsubst %.c,$(FAKE_CUBLAS)/%.o,tests/core/cublas.c $(FAKE_SRC))
	@mkdir -p $(@D)
	$(CC) $(SAN) $^ -Wl,--wrap=vf_ego_cuda -o $@ -lcmocka -lm -lpthread

# ---- the kernels themselves without a GPU: tests/emulate ----------------------------------------------------------------------------

# One build for each architecture whose instructions they use (kernels/kernel.cuh has the list of branches), times 10.
EMULATED := 530 620 720 750 870 900
EMULATE_CFG ?= check
HAVE_FIBERS := $(shell echo | $(CXX) -E -xc++ -include boost/context/fiber.hpp - >/dev/null 2>&1 && echo 1)
EMULATE   = $(BUILD)/emulate
E_KERNELS := $(wildcard kernels/*/*.cu)
E_FLAGS   = -I. -Isrc -isystem tests/fake $(call CONFIG,$(EMULATE_CFG)) -DVFRONT_CUDA -DEMULATED
E_SRC    := $(SRC) $(wildcard port/cuda/*.c) tests/fake/cudart.c $(addprefix tests/vfcheck/,vfcheck.c pictures.c flights.c map_stages.c flown.c critical_path.c tunings.c) $(RENDERER) tests/emulate/times.c
# Fail-over from emulated kernels, and what their steps hand on: in a folder of its own with the small config.
E_STEPS := failover airborne carry
E_SHARED := $(SRC) $(wildcard port/cuda/*.c) tests/fake/cudart.c tests/fixture/pair.c tests/fixture/scene.c $(RENDERED)
$(E_STEPS:%=$(BUILD)/emulate-small/%): $(BUILD)/emulate-small/%: FORCE
	+$(MAKE) --no-print-directory BUILD=$(BUILD)/emulate-small EMULATE_CFG=small $(BUILD)/emulate-small/emulate/$*-900
	cp $(BUILD)/emulate-small/emulate/$*-900 $@
$(BUILD)/emulate-small/airborne: $(BUILD)/emulate-small/failover # one make at a time in that folder
$(BUILD)/emulate-small/carry: $(BUILD)/emulate-small/airborne
E_RENAMED = $(foreach s,$(STAGES),-Dvf_$(s)_cuda=vf_$(s)_kernels) $(foreach s,$(APART),-Dvf_$(s)_cuda=vf_$(s)_kernels)
$(EMULATE)/translated: tests/emulate/translate.py $(wildcard kernels/*.cuh kernels/*/*)
	@mkdir -p $(@D)
	$(PYTHON) tests/emulate/translate.py kernels $(EMULATE)/kernels && touch $@
define emulated_arch
$(EMULATE)/$(1)/%.cu.o: $(EMULATE)/translated $(HEADERS) tests/emulate/cuda_runtime.h $(BUILD)/settings-c
	@mkdir -p $$(@D)
	$(CXX) -std=c++17 -O2 -g -w $(if $(filter x86_64,$(MACHINE)),-mpopcnt) $(EXACT) -fno-strict-aliasing -Itests/emulate -I$(EMULATE) $$(E_FLAGS) -D__CUDACC__ -D__CUDACC_VER_MAJOR__=13 -D__CUDA_ARCH__=$(1) \
	  $(E_RENAMED) $(SAN) -c $(EMULATE)/$$*.cu.cpp -o $$@
$(EMULATE)/vfcheck-$(1): $(E_KERNELS:%.cu=$(EMULATE)/$(1)/%.cu.o) $(E_SRC:%.c=$(EMULATE)/%.o) $(EMULATE)/block.o
	$(CXX) $(SAN) $$^ -o $$@ -Wl,--wrap=cudaStreamEndCapture -lboost_context -lm -lpthread
$(E_STEPS:%=$(EMULATE)/%-$(1)): $(EMULATE)/%-$(1): $(EMULATE)/tests/core/%.o $(E_KERNELS:%.cu=$(EMULATE)/$(1)/%.cu.o) $(E_SHARED:%.c=$(EMULATE)/%.o) $(EMULATE)/block.o
	$(CXX) $(SAN) $$^ -o $$@ $$(call wraps,$$*) -lboost_context -lcmocka -lm -lpthread
endef
$(foreach a,$(EMULATED),$(eval $(call emulated_arch,$(a))))
$(EMULATE)/%.o: %.c $(HEADERS) $(FIXTURE) $(BUILD)/settings-c
	@mkdir -p $(@D)
	$(CC) -std=c11 -O3 -g $(WARN) $(EXACT) $(E_FLAGS) $(SAN) -c $< -o $@
$(EMULATE)/block.o: tests/emulate/block.cpp tests/emulate/cuda_runtime.h tests/fake/cuda_runtime_api.h
	@[ '$(HAVE_FIBERS)' = 1 ] || { echo 'emulate: libboost-context-dev is not installed'; exit 1; }
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -O2 -g $(WARN) $(SAN) -c $< -o $@

# Emulated kernels: a sample for `make slow`, in which every stage runs, in three builds that have both sides of every branch (kernels/kernel.cuh);
# `make emulate` is the whole.
SAMPLED := 530 870 900
EMULATED_SAMPLE := $(if $(HAVE_FIBERS),$(SAMPLED:%='$(EMULATE)/vfcheck-% --tiny --seed 4 --cases 8 --frames 2 --flights 2 --steps 20') '$(EMULATE)/vfcheck-900 --small --seed 9 --cases 1 --frames 2 --flights 1' '$(BUILD)/emulate-small/failover --quick' '$(BUILD)/emulate-small/airborne --quick' '$(BUILD)/emulate-small/carry',\
    "echo kernels: NOT RUN - libboost-context-dev is not installed; exit 77")
CASES ?= 90
emulate: $(EMULATED:%=$(EMULATE)/vfcheck-%) ## Kernels on this machine's processor beside the host forms, in every branch of each architecture: CASES=90
	@tests/run.sh --log $(EMULATE)/log $(foreach a,$(EMULATED),'$(EMULATE)/vfcheck-$(a) --small --cases $(CASES) --frames 3 --seed $(a)')

# ---- shared libraries for the tests in Python: tests/<room>/bridge_<name>.c -> build/bridge_<name>.so -------------------------------

# Sources of the library that a bridge takes, where not all of them; and its config.
BRIDGE_SRC_fast =
BRIDGE_SRC_graph =
BRIDGE_SRC_lens = src/camera/lens.c
BRIDGE_SRC_propagate = src/imu/propagate.c
BRIDGE_SRC_vio = src/vio/launch.c
BRIDGE_SRC_start = src/vio_init/start.c
BRIDGE_SRC_track = $(wildcard src/image/*.c) src/features/detect.c src/tracking/patch.c $(VIEWS)
VIEWS = $(addprefix src/,base/params.c core/views.c core/tuning.c camera/grid.c camera/lens.c camera/rectification.c math/rotation.c)# of a bridge that runs single stages
BRIDGE_SRC_orb = src/image/ingest.c src/image/scale.c src/image/smooth.c src/features/describe.c $(VIEWS)
BRIDGE_SRC_ego = $(filter-out src/ego/ego.c,$(SRC)) $(RENDERER)
BRIDGE_SRC_mavlink = $(addprefix examples/,companion/mavlink.c companion/signing.c companion/sha256.c common/message.c)
BRIDGE_SRC_trajectory = $(addprefix examples/,common/pose.c common/text.c common/message.c replay/trajectory.c replay/truth.c replay/accuracy.c)
BRIDGE_SRC_state = examples/common/pose.c $(addprefix examples/replay/,state.c mahalanobis.c state_accuracy.c state_plot.c diagram.c accuracy.c) $(RENDERER)
BRIDGE_CFG_graph = -DVFRONT_MAP=1
BRIDGE_CFG_track = -DVFRONT_TRACKS=1024
BRIDGE_CFG_orb = -DVFRONT_CAMERAS=1 -DVFRONT_KEYPOINTS=32768
BRIDGE_CFG_rectify = -DVFRONT_CAMERAS=2
BRIDGE_CFG_features = -DVFRONT_CAMERAS=1 -DVFRONT_WIDTH=1280 -DVFRONT_HEIGHT=1024 -DVFRONT_CELLS=16384 -DVFRONT_CULL_CELLS=262144 -DVFRONT_KEYPOINTS=32768
BRIDGE_CFG_stereo = -DVFRONT_WIDTH=1344 -DVFRONT_HEIGHT=1120
BRIDGE_CFG_dense = -DVFRONT_WIDTH=1344 -DVFRONT_HEIGHT=1120 -DVFRONT_DENSE=1 -DVFRONT_DISPARITIES=256 -DVFRONT_STIXELS=1
BRIDGE_CFG_stixel = -DVFRONT_WIDTH=1280 -DVFRONT_HEIGHT=512 -DVFRONT_DENSE=1 -DVFRONT_DISPARITIES=128 -DVFRONT_STIXELS=1 -DVFRONT_CULL_CELLS=12288
BRIDGE_CFG_match = -DVFRONT_CAMERAS=1 -DVFRONT_WIDTH=1280 -DVFRONT_HEIGHT=512
BRIDGE_CFG_ego = -DVFRONT_CAMERAS=2 -DVFRONT_WIDTH=1280 -DVFRONT_HEIGHT=512 -DVFRONT_TRACKS=1024 -DVFRONT_KEYPOINTS=4096 -DVFRONT_HYPOTHESES=4096
$(BUILD)/bridge_%.so: $$(wildcard tests/*/bridge_$$*.c) $(SRC) $(FIXTURE) $(wildcard examples/*/*.[ch])
	@mkdir -p $(@D) && echo "  CC   $@"
	$(CC) -std=c11 -O3 $(WARN) $(EXACT) -I. -Isrc $(BRIDGE_CFG_$*) -fPIC -shared $< $(if $(filter undefined,$(origin BRIDGE_SRC_$*)),$(SRC),$(BRIDGE_SRC_$*)) -o $@ -lm

# Of the archive, whose objects are made anew one by one.
RECORDED := $(BUILD)/recorded
$(RECORDED)/libvfront.a: FORCE
	+$(MAKE) --no-print-directory BUILD=$(RECORDED) CFG=tests/nav/recorded.h CUDA=0 $@
$(BUILD)/bridge_nav.so: tests/nav/bridge_nav.c tests/nav/recorded.h $(RECORDED)/libvfront.a $(RENDERER)
	@mkdir -p $(@D) && echo "  CC   $@"
	$(CC) -std=c11 -O3 $(WARN) $(EXACT) -I. -Isrc -DVFRONT_USER_CFG='"$(abspath tests/nav/recorded.h)"' -fPIC -shared $(filter %.c %.a,$^) -o $@ -lm

# ---- digests, sizes, parity ---------------------------------------------------------------------------------------------------------

$(BUILD)/digest: tests/core/digest.c $(LIB) $(FIXTURE)
	$(CC) $(T_CFLAGS) $(FLAGS) $< $(LIB) -o $@ $(LIBS)
EGO := $(wildcard src/ego/ego*.c)
$(BUILD)/backwards: tests/core/digest.c $(EGO) $(LIB) $(FIXTURE) # loops over independent items, from the last to the first: src/math/team.h
	$(CC) $(T_CFLAGS) $(FLAGS) -DVF_TEAM_BACKWARDS $< $(EGO) $(LIB) -o $@ $(LIBS)
$(BUILD)/size: tests/core/size.c $(FIXTURE) $(BUILD)/settings-c
	@mkdir -p $(@D)
	$(CC) $(T_CFLAGS) $(FLAGS) $< -o $@

$(BUILD)/simulate: tests/vio/simulate.c $(wildcard tests/vio/simulation*.h) tests/vio/trajectory.h $(LIB) $(FIXTURE)
	$(CC) $(T_CFLAGS) $(FLAGS) $< $(LIB) -o $@ -lcmocka -lm $(LIBS)

# The host port without pictures: worlds.c plays the stages that look at them.
PLAYED := ingest freeze rectify pyramid scale smooth track detect refill select describe stereo epipolar match partner
$(BUILD)/worlds: tests/vio/worlds.c $(wildcard tests/vio/drawn_*.h) tests/vio/trajectory.h $(BUILD)/config/worlds/libvfront.a $(FIXTURE)
	$(CC) $(T_CFLAGS) -O2 $(call CONFIG,worlds) $< $(BUILD)/config/worlds/libvfront.a -o $@ $(PLAYED:%=-Wl,--wrap=vf_%_host) -lcmocka -lm

# The same worlds with rendered pictures, which the library sees itself.
$(BUILD)/worlds-rendered: tests/vio/worlds_rendered.c tests/vio/drawn_place.c $(wildcard tests/vio/drawn_*.h) tests/vio/trajectory.h $(BUILD)/config/worlds/libvfront.a $(FIXTURE)
	$(CC) $(T_CFLAGS) -O3 $(call CONFIG,worlds) $(filter tests/vio/%.c,$^) $(RENDERER) $(BUILD)/config/worlds/libvfront.a -o $@ -lcmocka -lm

$(TEST)/vfcheck/%.o: EXTRA = -Wno-strict-prototypes -Wno-pedantic
VFCHECK := $(patsubst %,$(BUILD)/%.o,$(basename $(wildcard tests/vfcheck/*.c) $(RENDERER))) $(patsubst %,$(BUILD)/%.o,$(wildcard tests/vfcheck/*.cu))
$(BUILD)/vfcheck: $(VFCHECK) $(LIB)
	@echo "  LINK $@"
	$(CC) $(SAN) $^ -o $@ -Wl,--wrap=cudaSetDevice -Wl,--wrap=cudaStreamEndCapture -lm $(LIBS)

# ---- targets ------------------------------------------------------------------------------------------------------------------------

PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
MAVLINK_PYTHON = $(firstword $(shell for p in $(PYTHON) python3; do $$p -c 'import pymavlink' 2>/dev/null && echo $$p; done) $(PYTHON))# one that has pymavlink
MAVSDK_PYTHON = $(firstword $(shell for p in $(PYTHON) python3; do $$p -c 'import pymavlink, mavsdk' 2>/dev/null && echo $$p; done) $(MAVLINK_PYTHON))# one that has both
COMPANION_SLOW = '$(MAVSDK_PYTHON) tests/companion/clients.py mavsdk $(BUILD)/companion' '$(MAVLINK_PYTHON) tests/companion/clients.py mavproxy $(BUILD)/companion' '$(MAVLINK_PYTHON) tests/companion/mavlink.py $(BUILD)/bridge_mavlink.so' '$(MAVLINK_PYTHON) tests/companion/flight.py $(BUILD)/companion $(BUILD)/replay $(SMALL)/companion' '$(DDS_PYTHON) tests/companion/dds.py $(BUILD)/companion $(BUILD)/replay' '$(PYTHON) tests/companion/view.py $(BUILD)/companion' '$(MAVLINK_PYTHON) tests/companion/map.py $(MAP)/companion $(MAP)/replay'
DDS_PYTHON = $(firstword $(shell for p in $(PYTHON) python3; do $$p -c 'import pymavlink, cyclonedds' 2>/dev/null && echo $$p; done) $(MAVLINK_PYTHON))# likewise
MCAP_PYTHON = $(shell for p in $(PYTHON) python3; do $$p -c 'import mcap' 2>/dev/null && echo $$p && exit; done; echo $(PYTHON))# one that has the package mcap
ROS_PYTHON = $(shell for p in $(VFRONT_ROS_PYTHON) $(PYTHON) python3; do $$p -c 'import rclpy' 2>/dev/null && echo $$p && exit; done; echo $(PYTHON))# one that has ROS 2
BRIDGES := graph mavlink fast track orb lens rectify features trajectory state ego stereo propagate vio start nav
# In `make slow`, because each takes more than 8 s: of the oracles, and of the tests of ports.
SLOW    := detect ego essential motion scale start start_offset stereo_position imu_fault $(OWN) $(MAPS) report_loops
SLOW_PORTS := $(addprefix $(SMALL)/,init api info invariance prior alloc) $(PORTS:%=$(FAKE)/%) $(addprefix $(FAKE)/,graph pace $(FAULTS) hang $(FAILOVER)) $(addprefix $(JETPACK4)/,$(FAULTS) points) $(if $(HAVE_CUBLAS),$(FAKE)/cublas)
QUICK   := $(patsubst %,$(TEST)/%,$(filter-out $(SLOW),$(ORACLES) $(TOOLS)) $(FLYING) $(BENCHED) thread finding) $(addprefix $(SMALL)/,clock imu points partners fields ownership carry idle missing gyro)
GPU_ONLY := $(if $(filter 1,$(SMALL_CUDA)),$(addprefix $(SMALL)/,$(FAULTS) hang $(FAILOVER)))
# Every config that vfront_cfg.h allows, by the compiler's front end; and what the smallest one links.
CONFIGS  = tests/house/configs.py "$(CC) -std=c11 $(WARN_C) -Werror" "$(CXX) -std=c++17" $(EMULATE)/kernels
MONO     = tests/house/mono.sh "$(CC)" $(BUILD)/smallest $(MAKE) $(NM) $(SIZE)
DOCUMENTED = $(addprefix $(BUILD)/,replay calibrate companion hil-bench hil-board sitl-vehicle)# programs whose options are in a page
HOUSE   := $(foreach l,$(LIB) $(SMALL)/libvfront.a,'tests/house/symbols.sh $l $(NM) $(if $(filter 1,$(HAS_CUBLAS)),cublas)') \
    'tests/house/readme.sh $(CC)' 'tests/house/docs.py . $(DOCUMENTED)' 'tests/house/run.sh' 'tests/house/layers.py' 'tests/house/map.sh' 'tests/house/figures.py' 'tests/house/words.py' 'tests/house/budget.py' 'tests/house/constants.py' 'tests/house/header.sh $(CC)' 'tests/house/config.sh $(CC)' \
    '$(CONFIGS) --sample' '$(MONO)' 'tests/house/abi.sh $(CC)' 'tests/vio_init/header.sh $(CC) $(CXX) $(if $(filter 1,$(CUDA)),$(NVCC))' 'tests/house/proof.sh' 'tests/house/limits.py $(LIB)' 'tests/evidence/requirements.py'
PACKAGE := $(if $(CROSS),,'tests/package/archs.sh $(MAKE)' "tests/package/settings.sh '$(CC)' $(MAKE)" \
    "tests/package/versions.sh $(CC) $(LIB) '$(SAN)' '$(LIBS)'" \
    "tests/package/install.sh $(CC) $(CXX) $(BUILD) $(SMALL) $(SMALL_CUDA) $(MAKE)")

# Kernels for one architecture, in a folder of their own: PTX of the oldest runs on every GPU. The others are compiled by make check.
TEST_ARCH ?= $(firstword $(CUDA_ARCH))
ONE_ARCH = +$(MAKE) $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc)) --no-print-directory BUILD=$(BUILD)/test CUDA_ARCH="$(TEST_ARCH)"
test: ## What is quick: most oracles, golden digests of the host port, the examples, the house; with a GPU also parity
	$(ONE_ARCH) test-run

test-run: $(QUICK) $(if $(CROSS),,$(TEST)/hpp) $(GPU_ONLY) $(EMULATE)/translated $(BUILD)/digest $(COPIES:%=$(BUILD)/%) $(DOCUMENTED) $(LIB) $(if $(filter 1,$(CUDA)),$(BUILD)/vfcheck)
	@tests/run.sh --log $(BUILD)/log '$(EXEC) $(BUILD)/digest tests/golden.txt' $(QUICK:%='$(EXEC) %') \
	  'tests/examples/replay.sh $(BUILD)/replay' '$(BUILD)/minimal' $(if $(CROSS),,'$(TEST)/hpp') "$(PYTHON) tests/examples/programs.py $(BUILD) $(LIB) '$(CC) $(SAN)' '$(LIBS)'" $(HOUSE) $(PACKAGE) \
	  $(if $(filter 1,$(CUDA)),'$(BUILD)/vfcheck',"echo parity: NOT RUN - this build has no CUDA; exit 77") $(GPU_ONLY:%='%')

slow: ## The other oracles, both ports through the public interface, one on a fake CUDA runtime, comparisons with OpenCV
	$(ONE_ARCH) slow-run

slow-run: $(if $(HAVE_FIBERS),$(SAMPLED:%=$(EMULATE)/vfcheck-%) $(E_STEPS:%=$(BUILD)/emulate-small/%)) $(SLOW:%=$(TEST)/%) $(SLOW_PORTS) $(BUILD)/sitl-vehicle $(MAP)/digest $(MAP)/replay $(MAP)/companion $(BUILD)/backwards $(BUILD)/endless $(BUILD)/simulate $(BUILD)/worlds $(BUILD)/worlds-rendered $(TEST)/steady $(BRIDGES:%=$(BUILD)/bridge_%.so) $(BUILD)/replay $(BUILD)/calibrate $(BUILD)/companion $(BUILD)/hil-bench $(BUILD)/hil-board $(SMALL)/replay $(SMALL)/companion $(SMALL)/hil-bench $(SMALL)/hil-board $(BUILD)/latency $(FAKE)/latency $(FAKE)/replay $(FAKE)/hil-board $(if $(CROSS),,$(BUILD)/python/libvfront.so $(BUILD)/python/vfront.i)
	@tests/run.sh --log $(BUILD)/slow-log $(EMULATED_SAMPLE) 'tests/package/on_board.sh $(BUILD) $(FAKE)' $(if $(CROSS),,'tests/package/install.sh --found $(CC) $(CXX) $(BUILD) $(SMALL) $(SMALL_CUDA) $(MAKE)') 'tests/examples/replay.sh $(BUILD)/replay $(SMALL)/replay $(FAKE)/replay' '$(EXEC) $(BUILD)/backwards tests/golden.txt' '$(EXEC) $(MAP)/digest tests/map/golden.txt' '$(PYTHON) tests/map/loops.py $(MAP)/replay --quick' '$(PYTHON) tests/map/graph.py $(BUILD)/bridge_graph.so --quick' $(SLOW:%='$(EXEC) $(TEST)/%') $(SLOW_PORTS:%='$(EXEC) %') \
	  '$(PYTHON) tests/hil/hil.py $(BUILD)/hil-bench $(BUILD)/hil-board' '$(PYTHON) tests/hil/hil.py $(SMALL)/hil-bench $(FAKE)/hil-board --gpu' '$(PYTHON) tests/hil/fly.py $(BUILD)/hil-bench $(BUILD)/hil-board $(SMALL)/hil-bench $(SMALL)/hil-board' '$(MAVLINK_PYTHON) tests/hil/sitl.py $(BUILD)/sitl-vehicle $(BUILD)/companion $(MAP)/companion --peer' '$(PYTHON) tests/examples/recording.py $(BUILD)/replay $(BUILD)/companion' '$(MCAP_PYTHON) tests/examples/recording.py $(BUILD)/replay --mcap $(SMALL)/replay' '$(MCAP_PYTHON) tests/examples/bags.py $(BUILD)/replay' '$(PYTHON) tests/examples/live.py $(BUILD)/replay' $(if $(CROSS),,'$(ROS_PYTHON) tests/package/ros2.py $(BUILD)/replay $(BUILD)' 'tests/package/deb.sh $(CC) $(BUILD) $(MAKE)') \
	  '$(PYTHON) tests/features/opencv_fast.py $(BUILD)/bridge_fast.so' '$(PYTHON) tests/tracking/quality.py $(BUILD)/bridge_track.so' \
	  '$(PYTHON) tests/features/opencv_orb.py $(BUILD)/bridge_orb.so' '$(PYTHON) tests/camera/opencv_lens.py $(BUILD)/bridge_lens.so' \
	  '$(PYTHON) tests/camera/opencv_rectify.py $(BUILD)/bridge_rectify.so' '$(PYTHON) tests/features/shapes.py $(BUILD)/bridge_features.so --quick' \
	  '$(PYTHON) tests/geometry/honesty.py $(BUILD)/bridge_ego.so $(BUILD)/bridge_stereo.so --quick' '$(PYTHON) tests/geometry/motions.py $(BUILD)/bridge_ego.so --quick' \
	  '$(PYTHON) tests/geometry/rig.py $(BUILD)/bridge_ego.so --quick' '$(PYTHON) tests/geometry/predict.py $(BUILD)/bridge_ego.so --quick' \
	  '$(PYTHON) tests/geometry/expect.py $(BUILD)/bridge_ego.so --quick' '$(PYTHON) tests/tracking/partner.py $(BUILD)/bridge_ego.so --quick' \
	  '$(PYTHON) tests/imu/propagate.py $(BUILD)/bridge_propagate.so --quick' \
	  '$(PYTHON) tests/vio/vio.py $(BUILD)/bridge_ego.so $(BUILD)/bridge_vio.so --quick' \
	  '$(PYTHON) tests/vio_init/start.py $(BUILD)/bridge_ego.so $(BUILD)/bridge_start.so --quick' '$(PYTHON) tests/nav/nav.py $(BUILD)/bridge_nav.so $(BUILD)/bridge_state.so --quick' '$(PYTHON) tests/nav/rates.py $(BUILD)/bridge_nav.so --quick' '$(PYTHON) tests/nav/rates_check.py' \
	  '$(PYTHON) tests/geometry/predict_vio.py $(BUILD)/bridge_nav.so --quick' \
	  '$(PYTHON) tests/vio/simulate.py $(BUILD)/simulate --only hover --runs 8 --sets=1001,2001' '$(PYTHON) tests/vio/simulate.py $(BUILD)/simulate --only "V1_02, no readings" --runs 12 --sets=' '$(PYTHON) tests/vio/worlds.py $(BUILD)/worlds --runs 60 --seconds 6 --check' '$(PYTHON) tests/vio/worlds.py $(BUILD)/worlds --runs 20 --seconds 14 --black 4,11 --check' \
  '$(PYTHON) tests/vio/worlds.py $(BUILD)/worlds-rendered --runs 16 --seconds 4 --check' $(foreach b,covariance gravity,'$(PYTHON) tests/vio/worlds.py $(BUILD)/worlds-rendered --runs 8 --seconds 4 --broken $b --check --must-fail') 'env PYTHON=$(PYTHON) tests/vio/worlds_long.sh $(BUILD) --quick' \
  '$(PYTHON) tests/integrity/integrity.py $(BUILD)/worlds --runs 37 --seconds 6 --check' '$(PYTHON) tests/integrity/integrity.py $(BUILD)/worlds --runs 12 --seconds 6 --broken covariance --check --must-fail' \
  '$(PYTHON) tests/integrity/recorded.py $(BUILD)/bridge_nav.so $(BUILD)/worlds --runs 17 --set state_only=1 --check' '$(PYTHON) tests/integrity/recorded.py $(BUILD)/bridge_nav.so $(BUILD)/worlds --runs 1 --set state_only=1 --broken --check --must-fail' \
  '$(PYTHON) tests/examples/trajectory.py $(BUILD)/bridge_trajectory.so $(BUILD)/replay' '$(PYTHON) tests/examples/state.py $(BUILD)/bridge_state.so $(BUILD)/replay' '$(PYTHON) tests/accuracy/check.py $(BUILD)/bridge_state.so $(BUILD)/replay' '$(EXEC) $(BUILD)/endless 2000' '$(EXEC) $(TEST)/steady --steps 60 --frames 20 --size 128x96 --set select_points=200 --set ego_hypotheses=32 --set ego_metric_hypotheses=32' '$(PYTHON) tests/examples/faults.py $(BUILD)/replay --quick' '$(PYTHON) tests/examples/wrong_calibration.py $(BUILD)/replay --quick' '$(PYTHON) tests/examples/wrong_calibration.py $(BUILD)/replay --quick --state-only' '$(PYTHON) tests/examples/calibrate.py $(BUILD)/calibrate --quick' '$(PYTHON) tests/examples/flights.py $(BUILD)/replay --quick' \
  $(COMPANION_SLOW)

golden: $(BUILD)/digest $(MAP)/digest ## Writes tests/golden.txt and tests/map/golden.txt anew, on purpose only
	$(BUILD)/digest --write tests/golden.txt
	$(MAP)/digest --write tests/map/golden.txt

quality: $(BUILD)/bridge_track.so $(BUILD)/bridge_ego.so ## The tracker beside OpenCV's on real pictures with ground truth, and how many tracks live
	$(PYTHON) tests/tracking/quality.py $^

RECORD = tests/house/record.sh
laps: $(MAP)/replay ## Rendered flights of three laps along recorded trajectories: error by odometry and in the map; writes tests/map/laps.txt, 30 minutes of a core
	$(RECORD) tests/map/laps.txt 'Three laps' $(PYTHON) tests/map/laps.py $<
kidnapped: $(MAP)/replay ## Waking up somewhere in a place of which there is a map, 200 rendered trials; writes tests/map/kidnapped.txt, 15 minutes of a core
	$(RECORD) tests/map/kidnapped.txt 'Waking up in a known place' $(PYTHON) tests/map/kidnapped.py $<

# The ring of the endless flight is small, so that it is soon full; key points and samples are few, for time.
ENDLESS_SRC := $(wildcard src/map/*.c) $(VIEWS)
$(BUILD)/endless: tests/map/endless.c tests/map/map_flight.h $(ENDLESS_SRC) $(FIXTURE)
	@mkdir -p $(@D)
	$(CC) -std=c11 -O3 $(WARN) $(EXACT) -I. -Isrc $(call CONFIG,map) -DVFRONT_KEYFRAMES=64 -DVFRONT_KEYPOINTS=160 -DVF_OVERLAP_HYPOTHESES=16 -DVF_OVERLAP_ROTATIONS=4 $< $(ENDLESS_SRC) -o $@ -lm
.PHONY: endless
endless: $(BUILD)/endless ## A flight of 10^6 steps without pictures: ring, time, memory and wrong loops stay as they are once the ring is full; writes tests/map/endless.txt, 40 minutes
	$(RECORD) tests/map/endless.txt 'A flight of 10^6 steps without pictures' $< 1000000

loops: $(MAP)/replay ## Places seen again and loops on recorded and rendered sets, beside ground truth; writes tests/map/loops.txt, 15 minutes of a core
	$(RECORD) tests/map/loops.txt 'Places seen again and loops' $(PYTHON) tests/map/loops.py $< --all-pairs

pose-graph: $(BUILD)/bridge_graph.so ## The map's pose graph beside SciPy's least squares over the same edges, 12 drawn cases; writes tests/map/graph.txt
	$(RECORD) tests/map/graph.txt 'Pose graph' $(PYTHON) tests/map/graph.py $<

features: $(BUILD)/bridge_features.so ## Key points beside OpenCV's ORB and FAST on the Oxford sets, and bounded rectification on drawn shapes
	$(PYTHON) tests/features/features.py $<
	$(PYTHON) tests/features/features.py $< --set detect_arc_most=13
	$(PYTHON) tests/features/shapes.py $<

choices: $(BUILD)/bridge_match.so $(BUILD)/bridge_features.so ## Values of detect chosen anew on 14 sets of pictures and drawn shapes, each left out in turn; 4 minutes
	$(PYTHON) tests/features/choose.py $^

stereo: $(BUILD)/bridge_stereo.so ## Depth of key points beside ORB and a matcher along rows, on real and rendered pairs
	$(PYTHON) tests/geometry/stereo.py $<

dense: $(BUILD)/bridge_dense.so ## Disparity of every pixel beside OpenCV's semi-global matcher: how good, and on one thread how fast; stixels' time
	$(PYTHON) tests/depth/dense.py $<

stixels: $(BUILD)/bridge_stixel.so ## Stixels of drawn scenes: obstacles found, false alarms, heights and sky, with the values of a car, a rover and a drone
	$(PYTHON) tests/depth/stixel.py $<

partner: $(BUILD)/bridge_ego.so ## Partners of tracks in camera 1 beside OpenCV's Lucas-Kanade from left to right, on flights and pairs with true disparities
	$(PYTHON) tests/tracking/partner.py $<

matching: $(BUILD)/bridge_match.so ## Matches with the frame before, beside OpenCV's ORB and brute-force matcher, on sequences with ground truth
	$(PYTHON) tests/tracking/matching.py $<

ego: $(BUILD)/bridge_ego.so ## Motions beside OpenCV's, on problems drawn and on sequences with ground truth
	$(PYTHON) tests/geometry/ego.py $<

motions: $(BUILD)/bridge_ego.so ## Motions beside the truth and the bounds of their covariances: 1,000 drawn scenes, sequences, weak texture; 10 minutes
	$(PYTHON) tests/geometry/motions.py $<

honesty: $(BUILD)/bridge_ego.so $(BUILD)/bridge_stereo.so ## Covariances of motions and deviations of depths beside ground truth
	$(PYTHON) tests/geometry/honesty.py $^

expect: $(BUILD)/bridge_ego.so ## Depths of key points without a stereo match, where they are expected, beside true disparities
	$(PYTHON) tests/geometry/expect.py $<

truth: $(BUILD)/bridge_ego.so ## How true the ground truth of recorded sequences is over a few frames; 4 minutes
	$(PYTHON) tests/geometry/truth.py $<

predict: $(BUILD)/bridge_ego.so $(BUILD)/bridge_nav.so ## Predicted motions beside the truth, and guided matching in fast flight beside a search of the whole picture
	$(PYTHON) tests/geometry/predict_vio.py $(BUILD)/bridge_nav.so
	$(PYTHON) tests/geometry/predict.py $<

rig: $(BUILD)/bridge_ego.so ## Offsets of the rig as health has them beside what was done to the calibration of rendered flights; 12 minutes
	$(PYTHON) tests/geometry/rig.py $<

propagate: $(BUILD)/bridge_propagate.so ## States carried on by IMU readings, beside GTSAM's preintegration, where it can be imported, and ground truth
	$(PYTHON) tests/imu/propagate.py $<

vio: $(BUILD)/bridge_ego.so $(BUILD)/bridge_vio.so ## States by IMU and tracks in a window of frames, on recorded flights beside ground truth; 2 minutes
	$(PYTHON) tests/vio/vio.py $^

batch: $(BUILD)/bridge_ego.so $(BUILD)/bridge_vio.so ## All states of those flights at once by GTSAM, from the same tracks and readings: what the data are worth; 3 minutes
	$(PYTHON) tests/vio/batch.py $^

nav: $(BUILD)/bridge_nav.so $(BUILD)/bridge_state.so ## States of recorded flights from a cold start, with an IMU and without, by the public interface, beside ground truth
	$(PYTHON) tests/nav/nav.py $^

.PHONY: nav-rates
nav-rates: $(BUILD)/bridge_nav.so ## Recorded sets under changes of rate, losses, start, gyro bias and rig, and 200 drawn combinations: errors and NEES of states; writes tests/nav/rates.txt, 9 minutes of a core; some by RATES="--short --compare FILE", which writes nothing
	$(if $(RATES),,$(RECORD) tests/nav/rates.txt 'Recorded sets under changes of rate, losses, start, gyro bias and rig') $(PYTHON) tests/nav/rates.py $< $(RATES)

fitted: $(BUILD)/bridge_nav.so $(BUILD)/bridge_state.so ## Calibration of KITTI's pairs fitted to the truth's poses, and states with it: what a path owes to the published one
	$(PYTHON) tests/nav/fitted.py
	$(PYTHON) tests/nav/nav.py $^ --fitted --imu --no-imu --only kitti05_vio kitti01_stereo

start: $(BUILD)/bridge_ego.so $(BUILD)/bridge_start.so $(TEST)/mono ## First states by IMU and motions, from every frame of recorded sets, beside ground truth; with one camera, of simulated flights
	$(TEST)/mono 20
	$(PYTHON) tests/vio_init/start.py $(BUILD)/bridge_ego.so $(BUILD)/bridge_start.so

vio-speed: $(BUILD)/simulate ## A step of the window on the host beside OpenCV's Lucas-Kanade on one thread: make vio-speed PICTURES=folder
	$(PYTHON) tests/vio/vio_speed.py $< $(BUILD)/src/vio/launch.o $(PICTURES)

orin: ## Instructions and bytes of each stage of a step, and projected times of Orin Nano, NX and AGX; counts anew with ncu: tests/vfcheck/orin.py --count build/replay
	$(PYTHON) tests/vfcheck/orin.py

simulate: $(BUILD)/simulate ## Simulated flights through the window, without pictures: errors and NEES of each scenario, 50 flights; writes tests/vio/simulate.txt, 90 minutes of a core; some by SIMULATE="--only WORD", which writes nothing
	$(if $(SIMULATE),,$(RECORD) tests/vio/simulate.txt 'Simulated flights through the window, without pictures') $(PYTHON) tests/vio/simulate.py $< $(SIMULATE)

worlds: $(BUILD)/worlds ## Flights through 2,000 worlds drawn from distributions, without pictures, by the calls of vfront.h: errors beside covariance, by group; writes tests/vio/worlds.txt, 30 minutes on 2 cores; some by WORLDS="--runs 100", which writes nothing
	$(if $(WORLDS),,$(RECORD) tests/vio/worlds.txt 'Drawn worlds, without pictures') $(PYTHON) tests/vio/worlds.py $< $(or $(WORLDS),--alone 60 --csv $(BUILD)/worlds.csv)

worlds-rendered: $(BUILD)/worlds-rendered ## Flights of 6 s through 200 of these worlds with rendered pictures of 376x240, likewise; writes tests/vio/worlds-rendered.txt, 20 minutes of a core; some by WORLDS="--runs 20" or WORLDS=--help, which write nothing
	$(if $(WORLDS),,$(RECORD) tests/vio/worlds-rendered.txt 'Drawn worlds, rendered') $(PYTHON) tests/vio/worlds.py $< $(or $(WORLDS),--runs 200 --alone 20 --csv $(BUILD)/worlds-rendered.csv)

worlds-long: $(BUILD)/worlds $(BUILD)/worlds-rendered ## Hovers of 10 minutes and flights of 30 through drawn worlds: drift and deviations by time; writes tests/vio/worlds-long.txt, 20 minutes of a core
	$(RECORD) tests/vio/worlds-long.txt 'Drawn worlds, long flights' env PYTHON=$(PYTHON) tests/vio/worlds_long.sh $(BUILD)

integrity: $(BUILD)/worlds $(BUILD)/worlds-rendered ## Drawn worlds without and with a drawn fault, 592 runs without pictures, 60 rendered: misleading frames, alerts, recovery; writes tests/integrity/integrity.txt and Stanford diagrams, 10 minutes on 2 cores; some by INTEGRITY="--runs 37,10" or INTEGRITY=--help, which write nothing
	$(if $(INTEGRITY),,$(RECORD) tests/integrity/integrity.txt 'Drawn faults in drawn worlds') $(PYTHON) tests/integrity/integrity.py $^ $(or $(INTEGRITY),--runs 592$(comma)60 --svg tests/integrity --csv $(BUILD)/integrity.csv$(comma)$(BUILD)/integrity-rendered.csv)

.PHONY: sensitivity leave-one-out integrity-recorded integrity-sample
integrity-sample: $(BUILD)/worlds $(BUILD)/bridge_nav.so ## Some drawn faults, in drawn worlds and in a recorded set, within their bounds; 3 minutes of a core
	$(PYTHON) tests/integrity/integrity.py $< --runs 74 --seconds 6 --check
	$(PYTHON) tests/integrity/recorded.py $(BUILD)/bridge_nav.so $< --runs 34 --set state_only=1 --check

integrity-recorded: $(BUILD)/bridge_nav.so $(BUILD)/worlds ## Drawn faults in a recorded set, 198 runs by the step for a state; writes tests/integrity/recorded.txt, 8 minutes of a core
	$(RECORD) tests/integrity/recorded.txt 'Drawn faults in a recorded set' $(PYTHON) tests/integrity/recorded.py $^ --runs 198 --set state_only=1

dockerfile: ## Commands of examples/package/Dockerfile in a chroot of debootstrap: root, a network, minutes
	$(PYTHON) tests/package/dockerfile.py

sensitivity: ## Each chosen constant of the estimator times 0.67 and 1.5: what it moves in 60 drawn worlds; writes tests/house/sensitivity.txt, 3 hours of a core; some by SENSITIVITY="--only VIO_", which writes nothing
	$(if $(SENSITIVITY),,$(RECORD) tests/house/sensitivity.txt 'Chosen constants of the estimator times 0.67 and 1.5') $(PYTHON) tests/house/sensitivity.py $(BUILD)/sensitivity $(or $(SENSITIVITY),--minutes 600)

leave-one-out: ## Each of those that moved a row, chosen anew by the log score on seven of eight kinds of worlds and judged on the eighth; writes tests/house/leave-one-out.txt, 8 hours of a core; some by SENSITIVITY="--only VIO_ --worlds 40", which writes nothing
	$(if $(SENSITIVITY),,$(RECORD) tests/house/leave-one-out.txt "Leave-one-out choice of the estimator's constants") $(PYTHON) tests/house/leave_one_out.py $(BUILD)/leave-one-out $(SENSITIVITY)

.PHONY: first-run
first-run: ## The first command of README.md, without nvcc: processor time, what its last line says, and the files that it leaves; 2 minutes
	@tests/examples/first_run.sh '$(MAKE)' $(BUILD)/first

faults: $(BUILD)/replay ## Every fault of camera, clock and gyro on three sequences: what is said, how true it is; writes tests/faults.txt, 13 minutes
	$(PYTHON) tests/examples/faults.py $< --write tests/faults.txt

flights: $(BUILD)/replay ## States on rendered flights along recorded trajectories, hovering and standing, without and with faults; writes tests/flights.txt, 40 minutes
	$(PYTHON) tests/examples/flights.py $< --write tests/flights.txt

# Rows of their tables are processes of their own: MORE='--jobs 2 --rows "clean|flip both"', MORE='--only black'. Whole tables are kept in tests/.
.PHONY: hil fly fly-long fly-real-time sitl fuzz-readers companion-speed
KEEP = code=$$?; $(if $(MORE),,[ $$code = 77 ] || cp $(BUILD)/$@.txt tests/;) exit $$code
FLY  = $(BUILD)/hil-bench $(BUILD)/hil-board $(SMALL)/hil-bench $(SMALL)/hil-board
hil: $(BUILD)/hil-bench $(BUILD)/hil-board ## Bench and board over loopback: the whole table of faults, each in lock step; wild bytes; writes tests/hil.txt, build/hil.xml; 15 minutes of a core
	$(PYTHON) tests/hil/hil.py $^ --full $(BUILD)/$@ $(MORE); $(KEEP)

fly: $(FLY) ## Closed loop: a quadrotor on ODOMETRY alone under each fault of a table for 20 s, and before a wall; writes tests/fly.txt, build/fly.xml; 25 minutes of a core
	$(PYTHON) tests/hil/fly.py $^ --full $(BUILD)/$@ $(MORE); $(KEEP)

fly-long: $(FLY) ## Three faults of that table, one that is lost among them, for 5 minutes each; writes tests/fly-long.txt; 8 minutes of a core
	$(PYTHON) tests/hil/fly.py $^ --full $(BUILD)/$@ --seconds 300 --rows "black both, 30 in 90|camera 1 late by 1|noise of 255" $(MORE); $(KEEP)

sitl: $(BUILD)/sitl-vehicle $(BUILD)/companion $(MAP)/companion ## ArduCopter's firmware in the loop, SITL=path/to/arducopter: companion, rendered cameras, all by MAVLink; each row a flight; writes tests/sitl.txt; 2 hours of two cores
	$(MAVLINK_PYTHON) tests/hil/sitl.py $^ --sitl "$(SITL)" --full $(BUILD)/$@ $(MORE); $(KEEP)

fly-real-time: $(FLY) ## Closed loop as time passes, without a fault and with three of 20 s; writes tests/fly-real-time.txt; 3 minutes, on a machine at rest
	$(PYTHON) tests/hil/fly.py $^ --full $(BUILD)/$@ --real-time --jobs 1 --rows "clean|black both, 30 in 90|camera 1 late by 1|link loses 30 %" $(MORE); $(KEEP)

LIGHT = --set select_points=300 --set ego_hypotheses=64 --set ego_metric_hypotheses=64
companion-speed: $(BUILD)/companion $(BUILD)/replay $(BUILD)/hil-bench $(BUILD)/hil-board ## Companion on a recording in real time: last byte of a frame to first byte of ODOMETRY beyond the step, its own share of a core, without a web page and with one that is looked at; the same over TCP by the bench; on a machine at rest, 4 minutes
	$(BUILD)/replay --quiet --frames 600 --set vio=1 --record $(BUILD)/companion-speed.vfr synthetic:320x208
	$(PYTHON) tests/companion/speed.py $(BUILD)/companion $(BUILD)/companion-speed.vfr 5 --realtime 50 $(LIGHT)
	$(BUILD)/hil-board --once --listen 127.0.0.1:14611 & sleep 1; $(BUILD)/hil-bench --board 127.0.0.1:14611 --paced $(LIGHT) $(BUILD)/companion-speed.vfr; wait

.PHONY: steady
STEADY = --steps 1000000 --seconds 560 --set vio=0
steady: $(TEST)/steady ## A loop of 200 frames in memory to two vfront_t, 10^6 steps: equal digests, memory and time as they were; on a GPU 7 minutes without the state; STEADY="--steps N ..." for others
	$< $(STEADY)

fuzz-readers: $(TEST)/fuzz_readers ## Bytes from anywhere for every reader of a socket or a file in the companion, the bench, recordings and data sets: 10^9 in all; 5 minutes
	$< --bytes 77000000 --seed 100

recording: $(TEST)/recording ## Recordings of 752x480 stereo at 30 Hz: 60 s to build/, what is lost, how fast the disk is; then 10^6 payloads from anywhere
	$< --speed 60 $(BUILD)/speed.vfr
	$< --runs 1000000

speed: $(BUILD)/replay ## The host port beside OpenCV on one thread: make speed PICTURES=folder
	$(PYTHON) tests/examples/opencv_speed.py $< $(PICTURES)

host-rate: $(BUILD)/replay ## Times of the host port's step by size and key points, and the largest configuration that fits 30 Hz; 3 minutes, on a machine at rest
	$(PYTHON) tests/examples/host_rate.py $<

host-counts: $(BUILD)/replay ## Instructions of each stage of the host port in a step, counted by valgrind
	$(PYTHON) tests/examples/host_counts.py $<

cross-counts: ## Instructions of each stage of the host port in a step, as built for aarch64 and for x86-64, counted under qemu; 3 minutes
	$(PYTHON) tests/cross/counts.py $(BUILD)/counts

size: $(BUILD)/size $(LIB) ## Bytes of host, pinned and device memory, by stage, of code, and of what the smallest tracker links
	@$(BUILD)/size
	@echo; $(MONO)
	@echo; $(SIZE) -t $(LIB) | tail -1

mavlink: $(BUILD)/bridge_mavlink.so ## The companion's MAVLink codec beside pymavlink: 10^6 messages each way; 2 minutes
	$(MAVLINK_PYTHON) tests/companion/mavlink.py $< --full

stack: ## Deepest stack on the host
	@tests/house/stack.sh '$(CC)' '$(subst ','\'',$(ALL_CFLAGS))'

symbols: $(LIB) ## What the archive exports and asks for
	@tests/house/symbols.sh $(LIB) $(NM) $(if $(filter 1,$(HAS_CUBLAS)),cublas)

check: slow ## The slow rest: `slow`, then sanitizers, fuzzing, clang, other configs, the newest architectures, the cross build
	@tests/run.sh --log $(BUILD)/check-log '$(MAKE) -s asan' '$(MAKE) -s first-run' 'tests/cross/cross.sh $(BUILD)/cross' '$(MAKE) -s archs CUDA_ARCH="$(or $(wordlist 3,4,$(CUDA_ARCH)),$(CUDA_ARCH))"' 'tests/evidence/findings.py $(CC)' 'tests/package/flags.sh $(CC) $(BUILD)/flags $(MAKE)' 'tests/package/reference.sh $(BUILD) $(MAKE)' 'env CUDA=$(SMALL_CUDA) $(PYTHON) tests/package/python.py $(BUILD)/test/config/small/replay tests/config/small.h $(BUILD)/test/config/small' 'tests/house/rounding.py $(CC) $(BUILD)/rounding $(MAKE)' '$(MAKE) -s clang' '$(MAKE) -s configs CONFIGS_SOME=--fifth' '$(MAKE) -s tsan' '$(MAKE) -s stack' 'tests/house/format.sh'

tsan: ## The port's thread under the thread sanitizer, with calls that hang
	+$(MAKE) -s CUDA=0 BUILD=$(BUILD)/tsan SANITIZE=thread WERROR=1 $(BUILD)/tsan/fake/hang $(BUILD)/tsan/fake/pace
	$(BUILD)/tsan/fake/hang --quick
	$(BUILD)/tsan/fake/pace

asan: ## Tests and fuzzing under the address and undefined behaviour sanitizers, but for those that take minutes
	+$(MAKE) -s CUDA=0 BUILD=$(BUILD)/asan SANITIZE=address,undefined WERROR=1 asan-run
asan-long: ## Those that take minutes
	+$(MAKE) -s CUDA=0 BUILD=$(BUILD)/asan SANITIZE=address,undefined WERROR=1 asan-long-run
ASAN := $(TEST)/finding $(ORACLES:%=$(TEST)/%) $(OWN:%=$(TEST)/%) $(MAPS:%=$(TEST)/%) $(TEST)/report_loops $(TOOLS:%=$(TEST)/%) $(FLYING:%=$(TEST)/%) $(BENCHED:%=$(TEST)/%) $(addprefix $(SMALL)/,init api info clock imu points partners prior fields invariance idle missing)
ASAN_LONG := $(filter $(addprefix %/,align_frame clock dense detect gyro_errors imu init invariance imu_fault map nav recall relpose stationary scale start stereo_check stereo_position stixel track vio vio_consistency),$(ASAN))
# Commands one after the other, up to one that fails; one that is skipped says so in cmocka's words, which run.sh counts.
one_by_one = for t in $(1); do echo "== $$t"; $$t && continue; [ $$? = 77 ] || exit 1; echo "skipped: $$t"; echo "[  SKIPPED ] 1 test(s)"; done
asan-long-run: $(ASAN_LONG)
	@$(call one_by_one,$^)
asan-run: $(filter-out $(ASAN_LONG),$(ASAN)) $(SMALL)/fuzz $(BUILD)/replay $(BUILD)/companion
	@$(call one_by_one,$(filter-out $(ASAN_LONG),$(ASAN)) '$(SMALL)/fuzz --seconds 30' '$(BUILD)/replay --frames 4 --quiet' '$(BUILD)/companion --source synthetic:160x120 --fast --frames 12 --link file:/dev/null')

clang: ## Everything built by clang, warnings as errors, and its digests; all stages, and the least config
	+$(MAKE) -s CC=clang CUDA=0 BUILD=$(BUILD)/clang WERROR=1 programs symbols $(BUILD)/clang/digest
	+for c in small min; do $(MAKE) -s CC=clang CUDA=0 BUILD=$(BUILD)/clang/$$c CFG=tests/config/$$c.h WERROR=1 symbols || exit 1; done
	$(BUILD)/clang/digest tests/golden.txt

configs: $(EMULATE)/translated ## Every value of the config at its ends, every pair of switches (CONFIGS_SOME=--fifth: of them every fifth); the smallest and the largest config, one without the host port, the smallest tracker: built and run
	+$(MAKE) -s CUDA=0 CFG=tests/config/mono.h BUILD=$(BUILD)/cfg-mono WERROR=1 $(BUILD)/cfg-mono/minimal
	$(EXEC) $(BUILD)/cfg-mono/minimal
	$(CONFIGS) $(CONFIGS_SOME)
	+for c in min max nohost; do $(MAKE) -s CUDA=0 CFG=tests/config/$$c.h BUILD=$(BUILD)/cfg-$$c WERROR=1 lib $(BUILD)/cfg-$$c/size || exit 1; $(BUILD)/cfg-$$c/size; done

archs: ## Kernels of the standard config for every default architecture, of the one with all stages for the first and the last, within the limits of each
	@[ '$(CUDA)' = 1 ] || { echo 'archs: skipped, no nvcc'; exit 77; }
	+$(MAKE) -s BUILD=$(BUILD)/archs/standard WERROR=1 lib
	+$(MAKE) -s BUILD=$(BUILD)/archs/check CFG=tests/config/check.h CUDA_ARCH='$(sort $(firstword $(CUDA_ARCH)) $(lastword $(CUDA_ARCH)))' WERROR=1 lib
	@$(MAKE) -s BUILD=$(BUILD)/archs/standard WERROR=1 size
	tests/house/limits.py $(BUILD)/archs/*/libvfront.a

gpu-proof: ## Proves and times the kernels on this machine's GPU, writes tests/gpu-proof.txt: all parts, or PARTS="..."
	tests/gpu-proof.sh $(BUILD) '$(PARTS)' $(MAKE)

# Tests in C with counters of branches in src/ and port/. Of the tests of ports those that add nothing beside the others are left out; hang and those of fail-over run alone,
# and once more if they fail, since they measure times, which other work on the machine may spoil. Functions are counted before the compiler puts them into one another,
# and this leads gcc 11 and 12 to an error of theirs (tests/house/rounding.py), which takes pairs of operations made into vectors.
COVERED := $(ORACLES:%=$(TEST)/%) $(OWN:%=$(TEST)/%) $(MAPS:%=$(TEST)/%) $(TEST)/nav $(TEST)/imu_fault $(addprefix $(SMALL)/,init api info clock imu points partners ownership carry idle missing gyro) \
    $(addprefix $(FAKE)/,init api info invariance prior fields maps alloc $(FAULTS) cublas)
COVERAGE = +$(MAKE) -s CUDA=0 BUILD=$(BUILD)/coverage CFLAGS='-O2 -fno-tree-slp-vectorize' FAKE_O=-O2 SAN='--coverage -fno-early-inlining -g -DVF_NO_CLONES'
coverage: ## Branches of src/ and port/ that the tests on the host take, by file, and why none takes the others; 13 minutes
	$(COVERAGE) coverage-run
	tests/evidence/coverage.py $(BUILD)/coverage
coverage-run: $(COVERED) $(addprefix $(FAKE)/,hang $(FAILOVER)) $(SMALL)/fuzz $(FAKE)/fuzz $(BUILD)/digest
	@find $(BUILD) -name '*.gcda' -delete
	@tests/run.sh --log $(BUILD)/log $(COVERED:%='%') '$(SMALL)/fuzz --runs 200' '$(FAKE)/fuzz --runs 200' '$(BUILD)/digest tests/golden.txt'; code=$$?; \
	  for t in hang $(FAILOVER); do tests/run.sh --log $(BUILD)/log-$$t "$(FAKE)/$$t" || tests/run.sh --log $(BUILD)/log-$$t "$(FAKE)/$$t" || code=1; done; exit $$code

evidence: ## What a safety engineer asks for, in one file: tests/evidence.txt; 16 minutes
	$(COVERAGE) coverage-run || echo 'evidence: not all passed'
	+tests/evidence/evidence.sh $(BUILD) $(CC) $(MAKE)
