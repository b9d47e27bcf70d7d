# run(<command>...): one step; its output is shown and its failure is the test's.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# refuse_libtorch(<program>): it must run without LibTorch, on the CPU alone.
function(refuse_libtorch program)
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${program} RESOLVED_DEPENDENCIES_VAR found
    UNRESOLVED_DEPENDENCIES_VAR missing)
  list(APPEND found ${missing})
  list(FILTER found INCLUDE REGEX "/?lib(torch|c10)")
  if(found)
    message(FATAL_ERROR "${program} needs ${found}")
  endif()
endfunction()
