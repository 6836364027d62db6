# SPDX-License-Identifier: MIT
# Installation: header, config, archive, what pkg-config and CMake ask for, and the programs that are built. Included by the Makefile. All is found
# from where the files lie, so that the tree can be moved.
.PHONY: install uninstall deb

PREFIX   ?= /usr/local
VERSION  := $(shell sed -n 's/^.define VFRONT_VERSION "\(.*\)"$$/\1/p' vfront.h)
INCLUDED := $(DESTDIR)$(PREFIX)/include/$(NAME)
LIBDIR   := $(DESTDIR)$(PREFIX)/lib
CMAKEDIR := $(LIBDIR)/cmake/$(NAME)
SHAREDIR := $(DESTDIR)$(PREFIX)/share/$(NAME)
SHARED_FILES := px4.params ardupilot.parm rig.yaml companion.service HOVER.md# of the companion, to begin with
INSTALLED := $(addprefix $(INCLUDED)/,vfront.h vfront_cfg.h vfront_user_cfg.h) $(LIBDIR)/lib$(NAME).a $(LIBDIR)/pkgconfig/$(NAME).pc \
    $(addprefix $(CMAKEDIR)/$(NAME)-,config.cmake config-version.cmake) $(SHARED_FILES:%=$(SHAREDIR)/%)
ABI      := $(shell sed -n 's/^.define VFRONT_ABI //p' vfront.h)
SONAME   := lib$(NAME).so.$(ABI)
BINDIR   := $(DESTDIR)$(PREFIX)/bin
PROGRAMS    := replay calibrate companion# as vfront-replay...: those that are built
NEEDS    := $(strip $(if $(filter 1,$(CUDA)),$(LIBS),-lpthread))

define USER_CFG
/* Settings of the installed library, which vfront_cfg.h reads first. */
$(if $(filter 1,$(HAS_CUBLAS)),#define VFRONT_CUBLAS 1)
$(if $(PREFIX_SYMBOLS),#define VFRONT_PREFIX $(PREFIX_SYMBOLS))
endef
define PC
prefix=$${pcfiledir}/../..
Name: $(NAME)
Description: Vision system of a flight computer, $(if $(filter 1,$(CUDA)),for NVIDIA GPUs ($(CUDA_ARCH)) and processors,for processors)
Version: $(VERSION)
Cflags: -I$${prefix}/include/$(NAME)
Libs: -L$${prefix}/lib -l$(NAME)
Libs.private: $(NEEDS)
endef
define CMAKE_CONFIG
get_filename_component($(NAME)_ROOT "$${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET $(NAME)::vfront)
  add_library($(NAME)::vfront STATIC IMPORTED)
  set_target_properties($(NAME)::vfront PROPERTIES
    IMPORTED_LOCATION "$${$(NAME)_ROOT}/lib/lib$(NAME).a"
    INTERFACE_INCLUDE_DIRECTORIES "$${$(NAME)_ROOT}/include/$(NAME)"
    INTERFACE_LINK_LIBRARIES "$(NEEDS)")
endif()
endef
define CMAKE_VERSION
set(PACKAGE_VERSION "$(VERSION)")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION OR NOT "$${PACKAGE_FIND_VERSION_MAJOR}.$${PACKAGE_FIND_VERSION_MINOR}" VERSION_EQUAL "$(basename $(VERSION))")
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
endef
export USER_CFG PC CMAKE_CONFIG CMAKE_VERSION

$(BUILD)/$(SONAME): $(LIB)
	$(CC) -shared -Wl,--no-undefined -Wl,-soname,$(SONAME) -Wl,--whole-archive $(LIB) -Wl,--no-whole-archive -o $@ -lm $(LIBS)

install: $(LIB) $(if $(filter 1,$(SHARED)),$(BUILD)/$(SONAME)) ## Header, config, archive, vfront.pc, CMake files, programs that are built, into DESTDIR and PREFIX
	install -d $(sort $(dir $(INSTALLED)))
	install -m 644 vfront.h $(INCLUDED)/vfront.h
	sed 's/^#ifdef VFRONT_USER_CFG$$/#if 1 \/* as the library was built *\//; s/^#include VFRONT_USER_CFG$$/#include "vfront_user_cfg.h"/' vfront_cfg.h >$(INCLUDED)/vfront_cfg.h
	{ printf '%s\n' "$$USER_CFG"; cat /dev/null $(CFG); } >$(INCLUDED)/vfront_user_cfg.h
	install -m 644 $(LIB) $(LIBDIR)/lib$(NAME).a
	install -m 644 $(SHARED_FILES:%=examples/companion/%) $(SHAREDIR)
	printf '%s\n' "$$PC" >$(LIBDIR)/pkgconfig/$(NAME).pc
	printf '%s\n' "$$CMAKE_CONFIG" >$(CMAKEDIR)/$(NAME)-config.cmake
	printf '%s\n' "$$CMAKE_VERSION" >$(CMAKEDIR)/$(NAME)-config-version.cmake
	chmod 644 $(INSTALLED)
	$(if $(filter 1,$(SHARED)),install -m 644 $(BUILD)/$(SONAME) $(LIBDIR) && ln -sf $(SONAME) $(LIBDIR)/lib$(NAME).so)
	sed -i 's|^ExecStart=[^ ]*|ExecStart=$(PREFIX)/bin/vfront-companion|' $(SHAREDIR)/companion.service
	$(if $(PREFIX_SYMBOLS),,for p in $(PROGRAMS); do [ ! -f $(BUILD)/$$p ] || install -D -m 755 $(BUILD)/$$p $(BINDIR)/vfront-$$p || exit 1; done)

uninstall: ## Removes what install put there, with the same settings
	rm -f $(INSTALLED) $(LIBDIR)/$(SONAME) $(LIBDIR)/lib$(NAME).so $(if $(PREFIX_SYMBOLS),,$(PROGRAMS:%=$(BINDIR)/vfront-%))
	for dir in $(INCLUDED) $(CMAKEDIR) $(SHAREDIR); do [ ! -d $$dir ] || rmdir --ignore-fail-on-non-empty $$dir; done

deb: $(LIB) $(BUILD)/replay $(BUILD)/calibrate $(BUILD)/companion ## Debian package of the library, replay, calibrate and companion: build/vfront_VERSION_ARCHITECTURE.deb
	examples/package/deb.sh $(BUILD) $(MAKE)
