# The makefile of an assembled CmdStan: `make path/to/model` translates, compiles and links
# path/to/model.stan, as CmdStan's own does. cmdstanpy reads CMDSTAN_VERSION from here.
# @VERSION@ is filled in when the toolchain is assembled.
CMDSTAN_VERSION := @VERSION@

TOP := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
O ?= 3
# Flags as in CmdStan's make files, so that draws agree to the last bit.
CPPFLAGS += -I $(TOP)/pch -I $(TOP)/include -DBOOST_DISABLE_ASSERTS -D_REENTRANT
CXXFLAGS += -std=c++17 -pthread -O$(O) -w
LDFLAGS += -pthread -L$(TOP)/lib -Wl,-rpath,$(TOP)/lib
LDLIBS := -Wl,--as-needed -lsundials_cvodes -lsundials_idas -lsundials_kinsol \
          -lsundials_nvecserial -ltbb
HEADER := stan/model/model_header.hpp
PCH := pch/$(HEADER).gch
# The common header first: as the first thing read it is taken precompiled.
ifneq ($(USER_HEADER),)
  USER_INCLUDE := -include $(HEADER) -include $(USER_HEADER)
endif

.PHONY: build
build: lib/driver.o $(PCH)

lib/driver.o: driver.cpp
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) -c -o $@ $<

$(PCH): include/$(HEADER)
	@mkdir -p $(dir $@)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) -x c++-header -o $@ $<
	@echo '#include_next <$(HEADER)>' > pch/$(HEADER)  # found here when it is read again

%.hpp: %.stan
	$(TOP)/bin/stanc $(STANCFLAGS) --o=$@ $<

%: %.hpp
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(USER_INCLUDE) -x c++ -c -o $*.o $<
	$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ $(TOP)/lib/driver.o $*.o $(LDLIBS)
	@rm -f $*.o $<

.PRECIOUS: %.hpp
.SUFFIXES:
