# SPDX-License-Identifier: GPL-2.0-or-later
# The engine: C++ behind engine.h, no Slurm header in it. The shims link it in.
noinst_LTLIBRARIES += libmlqengine.la

libmlqengine_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CURL_CFLAGS) $(JWT_CFLAGS)
libmlqengine_la_CXXFLAGS = $(AM_CXXFLAGS) -fvisibility=hidden
libmlqengine_la_LIBADD = libmlqcore.la libmlqtoken.la $(CURL_LIBS) $(JANSSON_LIBS)
libmlqengine_la_SOURCES = \
	slurm-plugin/engine/admin_comment.cpp slurm-plugin/engine/admin_comment.hpp \
	slurm-plugin/engine/capacity.cpp slurm-plugin/engine/capacity.hpp \
	slurm-plugin/engine/companions.cpp slurm-plugin/engine/companions.hpp \
	slurm-plugin/engine/config.cpp \
	slurm-plugin/engine/cycle_message.cpp slurm-plugin/engine/cycle_message.hpp \
	slurm-plugin/engine/decide.cpp \
	slurm-plugin/engine/engine.cpp slurm-plugin/engine/engine.hpp slurm-plugin/engine/engine.h \
	slurm-plugin/engine/families.cpp slurm-plugin/engine/families.hpp \
	slurm-plugin/engine/gain_meter.cpp slurm-plugin/engine/gain_meter.hpp \
	slurm-plugin/engine/guard.hpp \
	slurm-plugin/engine/het_sizes.cpp slurm-plugin/engine/het_sizes.hpp \
	slurm-plugin/engine/http_client.cpp slurm-plugin/engine/http_client.hpp \
	slurm-plugin/engine/inbox.cpp slurm-plugin/engine/inbox.hpp \
	slurm-plugin/engine/job.cpp slurm-plugin/engine/job.hpp \
	slurm-plugin/engine/log.hpp \
	slurm-plugin/engine/message_member.cpp slurm-plugin/engine/message_member.hpp \
	slurm-plugin/engine/messages.cpp \
	slurm-plugin/engine/mlqd_client.cpp slurm-plugin/engine/mlqd_client.hpp \
	slurm-plugin/engine/node_shrink.h slurm-plugin/engine/node_shrinks.cpp slurm-plugin/engine/node_shrinks.hpp \
	slurm-plugin/engine/offers.cpp \
	slurm-plugin/engine/pull.cpp \
	slurm-plugin/engine/push.cpp \
	slurm-plugin/engine/requeue.h slurm-plugin/engine/requeue_state.hpp \
	slurm-plugin/engine/requeues.cpp slurm-plugin/engine/requeue_wishes.cpp slurm-plugin/engine/requeues.hpp \
	slurm-plugin/engine/requeue_components.cpp \
	slurm-plugin/engine/resize.cpp \
	slurm-plugin/engine/resize_message.cpp slurm-plugin/engine/resize_message.hpp \
	slurm-plugin/engine/resizing.hpp slurm-plugin/engine/size_history.hpp \
	slurm-plugin/engine/size.h slurm-plugin/engine/size_limit.cpp slurm-plugin/engine/size_limit.hpp \
	slurm-plugin/engine/size_range.cpp slurm-plugin/engine/size_range.hpp \
	slurm-plugin/engine/sizer.cpp slurm-plugin/engine/sizer.hpp \
	slurm-plugin/engine/targets.cpp slurm-plugin/engine/targets.hpp \
	slurm-plugin/engine/user_names.cpp slurm-plugin/engine/user_names.hpp
