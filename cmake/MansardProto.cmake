# mansard_proto_library(<target> [GRPC] ROOT <dir> PROTOS a/b.proto ...)
# Generates into the build tree; the generated headers are SYSTEM includes, so
# that our warnings do not apply to them.
function(mansard_proto_library target)
  cmake_parse_arguments(A "GRPC" "ROOT" "PROTOS" ${ARGN})
  get_filename_component(root "${A_ROOT}" ABSOLUTE)
  set(gen ${CMAKE_CURRENT_BINARY_DIR}/${target}.gen)
  file(MAKE_DIRECTORY ${gen})
  set(sources)
  foreach(proto IN LISTS A_PROTOS)
    string(REGEX REPLACE "\\.proto$" "" stem "${proto}")
    set(outputs ${gen}/${stem}.pb.cc ${gen}/${stem}.pb.h)
    set(grpc_flags)
    if(A_GRPC)
      list(APPEND outputs ${gen}/${stem}.grpc.pb.cc ${gen}/${stem}.grpc.pb.h)
      set(grpc_flags --grpc_out=${gen}
          --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>)
    endif()
    # protoc sorts the targets of its depfile; unless the first OUTPUT is the
    # first of them, ninja runs protoc for ever.
    list(SORT outputs)
    string(REPLACE "/" "_" flat "${stem}")
    add_custom_command(OUTPUT ${outputs}
      COMMAND protobuf::protoc -I${root} --cpp_out=${gen} ${grpc_flags}
              --dependency_out=${gen}/${flat}.d ${proto}
      DEPENDS ${root}/${proto} protobuf::protoc gRPC::grpc_cpp_plugin
      DEPFILE ${gen}/${flat}.d
      WORKING_DIRECTORY ${root} VERBATIM)
    list(APPEND sources ${outputs})
  endforeach()
  add_library(${target} STATIC ${sources})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} SYSTEM PUBLIC ${gen})
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf)
  if(A_GRPC)
    target_link_libraries(${target} PUBLIC gRPC::grpc++)
  endif()
endfunction()
