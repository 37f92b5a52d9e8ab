// The long texts of --help.
#pragma once

namespace mansard::cli::help {

inline constexpr char kRoot[] =
    "Mansard: how long a pass of a language model takes on given hardware, "
    "and why.";

inline constexpr char kRootFooter[] =
    R"(Examples:
  mansard estimate --model llama-3.1-8b --hardware h100-sxm --phase decode --context 4096
  mansard model import ./my-model/config.json
  mansard hardware get h100-sxm

Exit codes: 0 done, 1 failed, 2 usage, 3 server unreachable or too slow, 4 infeasible (opt-in).
Environment: MANSARD_SERVER as --server (the flag wins); NO_COLOR turns colours off.)";

inline constexpr char kEstimateFooter[] =
    R"(--context includes the tokens computed now: --context minus --tokens are cached already.
In a mixed pass --batch, --context and --tokens describe the decodes, --prefill-* the prompts.
-o json prints the answer of the service; --ops and --waterfall add their rows to it.

Examples:
  One decode step of 64 sequences at 4,096 tokens each, on four devices:
    mansard estimate --model llama-3.1-70b --hardware h200-sxm --tp 4 \
        --phase decode --batch 64 --context 4096
  A prompt of 8,192 tokens of which 6,144 are cached:
    mansard estimate --model llama-3.1-8b --hardware h100-sxm \
        --phase prefill --context 8192 --tokens 2048
  Decodes and a chunk of a prompt in one pass:
    mansard estimate --model llama-3.1-8b --hardware h100-sxm \
        --phase mixed --batch 32 --context 2048 --prefill-tokens 512
  A model of your own, in FP8, bytes and time at every memory:
    mansard estimate --model ./config.json --hardware h100-sxm \
        --phase decode --context 1024 --weights fp8 --waterfall)";

inline constexpr char kModelGetFooter[] =
    R"(Examples:
  mansard model get llama-3.1-8b
  mansard model get llama-3.1-8b -o textproto > my-model.textproto)";

inline constexpr char kModelImportFooter[] =
    R"(Stores nothing: the file itself, or what -o textproto prints, goes to `mansard estimate --model`.

Examples:
  mansard model import ./my-model/config.json
  mansard model import ./my-model -o textproto > my-model.textproto
  cat config.json | mansard model import -)";

inline constexpr char kHardwareGetFooter[] =
    R"(Examples:
  mansard hardware get h100-sxm
  mansard hardware get h100-sxm -o textproto > my-device.textproto)";

inline constexpr char kStatusFooter[] =
    R"(Exit 1 if a service does not serve, 3 if nobody answers.

Examples:
  mansard status
  mansard --server localhost:7447 status)";

}  // namespace mansard::cli::help
