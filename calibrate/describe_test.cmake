# PROGRAM without a device: one message, exit 1; on bad usage exit 2.
function(expect status pattern)
  execute_process(COMMAND ${PROGRAM} ${ARGN}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE error)
  if(NOT result EQUAL status OR NOT output STREQUAL "" OR NOT error MATCHES "${pattern}")
    message(FATAL_ERROR "${PROGRAM} ${ARGN}: exit ${result}\n${output}${error}"
                        "expected: exit ${status}, ${pattern}")
  endif()
endfunction()

set(no_device "^mansard-calibrate: [^\n]*: no device to describe\n$")
expect(1 "${no_device}" describe)
expect(1 "${no_device}" describe --bandwidth)
# What cannot be measured, and what is waived for it.
set(no_measuring "^mansard-calibrate: [^\n]*: no device to measure\nwaived for it:\n.*  gemm  ")
expect(1 "${no_measuring}" run --backend=cuda --out=.)
expect(1 "${no_measuring}" prove --backend=cuda)
expect(2 "--backend: is \"abacus\"; allowed: cpu, cuda" run --backend=abacus --out=.)
expect(2 "^usage: ")
expect(2 "^usage: " measure)
