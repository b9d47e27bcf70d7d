# What Doxygen reads of a header. A comment counts for all declarations until the next empty line, so it is repeated
# for each of them that has none behind it. Fields, accessors, overrides and copying without a comment speak for themselves.
function says_all(line) {
  sub(/ = .*/, "", line)
  return line !~ /\(/ || line ~ /\(\) const/ || $0 ~ /= default;|override|detail::/
}

function copies(line) { return line ~ /~|operator=\(|&&\)|[(]const [a-z_]+&\)( = delete)?;/ && line !~ /\) &&/ }

function text_of(comment) {
  sub(/^ *\/\/\/ ?/, "", comment)
  return comment
}

# Several fields in one declaration, as one declaration each.
function each_field(line,    count, fields, i, kind, separate) {
  count = split(line, fields, /, /)
  kind = fields[1]
  sub(/ [a-z_]+ = .*/, "", kind)
  for (i = 1; i <= count; i++) {
    sub(/;.*/, "", fields[i])
    separate = separate "/** &#8203; */ " (i == 1 ? "" : kind " ") fields[i] "; "
  }
  return separate
}

/^ *\/\/\// { block = waiting ? block " " text_of($0) : text_of($0); waiting = 1; print; next }
/^ *$/ { block = ""; waiting = 0; print; next }
/^ *(public|protected|private):$/ { block = ""; waiting = 0; print; next }
/^ +[^ ]/ && /[;}]$/ {
  if (!waiting && !open && $0 !~ /\/\/\/</ && $0 !~ /^ *([{}]|return |namespace )/) {
    if (block != "" && !copies($0)) $0 = "/** " block " */ " $0
    else if (says_all($0) && $0 ~ / = \{\}, [a-z_]+ = /) $0 = each_field($0)
    else if (says_all($0) || copies($0)) $0 = "/** &#8203; */ " $0 (/, [a-z_]+ = / ? " ///< &#8203;" : "")
  }
  waiting = 0; open = 0; print; next
}
/operator=\(/ { $0 = "/** &#8203; */ " $0 }
{ open = $0 !~ /[;{}]( *\/\/.*)?$/; if (!open || !waiting) block = ""; waiting = 0; print }
