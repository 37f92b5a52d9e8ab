// The long texts of --help.
#pragma once

namespace mansard::cli::help {

inline constexpr char kRoot[] =
    "Mansard: how long a pass of a language model takes on given hardware, "
    "and why.";

inline constexpr char kRootFooter[] =
    R"(Examples:
  mansard estimate --model llama-3.1-8b --hardware h100-sxm --phase decode --context 4096
  mansard kernel gemm --m 64 --n 6144 --k 4096 --hardware h100-sxm
  mansard roofline --model llama-3.1-8b --hardware h100-sxm --phase decode --context 4096
  mansard kv --model llama-3.1-8b --hardware h100-sxm --tokens 8192 --from host,rdma
  mansard batch --model llama-3.1-8b --hardware h100-sxm --context 4096 --itl 20ms
  mansard model import ./my-model/config.json
  mansard hardware get h100-sxm
  mansard validate --measured kernels.csv

-o csv prints one table, with units in its header and numbers unrounded: estimate the parts (--ops:
the ops; --waterfall alone: its rows), roofline the ops, kv the sources, model get and import the
tensors, hardware get the device. Its rows of sums and their parts stand together: "step" is the sum
of the parts, "hbm" of its three kinds of bytes. -o md prints what table does, as Markdown.

Exit codes: 0 done, 1 failed, 2 usage, 3 server unreachable or too slow, 4 infeasible (opt-in).
Environment: MANSARD_SERVER as --server (the flag wins); MANSARD_STATE_DIR, where the catalog of
the embedded engine is kept; NO_COLOR turns colours off.)";

inline constexpr char kEstimateFooter[] =
    R"(--context includes the tokens computed now: --context minus --tokens are cached already.
In a mixed pass --batch, --context and --tokens describe the decodes, --prefill-* the prompts.
--draft-tokens: modules for multi-token prediction draft them in this pass, for the next to verify.
Each decoding sequence verifies as many: --tokens is 1 + --draft-tokens unless it is given. Both
costs are in the step. Only --acceptance counts a gain, as the share of drafts that are accepted
where all before them were; it needs --tokens to be 1 + --draft-tokens.
--encoder-tokens: positions of an encoder (image tiles times positions of one) that layers with
cross-attention see, of every sequence; without it such layers are skipped.
--kv-to: this pool computes prompts, another one decodes. The step then ends when that has the
prompts' keys and values: op kv_transfer, as far as nothing hides it.
-o json prints the answer of the service; --ops and --waterfall add their rows to it.
-o csv prints the parts alone: with --ops the ops, with --waterfall alone the waterfall, with
--memory alone the memory, with --what-if alone the what-ifs, with --sensitivity alone those.
-o svg draws the waterfall. --what-if estimates each change for real; costs only with a price.

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
  Decodes that draft a token each, of which 80 % are accepted:
    mansard estimate --model glm-4.5-air --hardware h200-sxm --tp 4 --phase decode --batch 32 \
        --context 4096 --draft-tokens 1 --acceptance 0.8
  A prompt whose keys and values go to another pool, layer by layer:
    mansard estimate --model llama-3.1-70b --hardware h100-sxm --tp 8 \
        --phase prefill --context 8192 --kv-to rdma --kv-layer-wise --ops
  What would make it faster, at prices of your own:
    mansard estimate --model llama-3.1-70b --hardware h100-sxm --tp 8 --phase decode --batch 64 \
        --context 4096 --what-if --sensitivity --price-per-hour h100-sxm=2.5,b200-sxm=5
  A model of your own, in FP8, bytes and time at every memory:
    mansard estimate --model ./config.json --hardware h100-sxm \
        --phase decode --context 1024 --weights fp8 --waterfall)";

inline constexpr char kKernelFooter[] =
    R"(Each is priced as inside a model, on one rank. Examples:
  mansard kernel gemm --m 64 --n 6144 --k 4096 --hardware h100-sxm
  mansard kernel attention --phase decode --batch 64 --context 4096 --heads 32 --kv-heads 8 \
      --head-size 128 --hardware h100-sxm
  mansard kernel collective all_reduce --bytes 16777216 --ranks 8 --hardware h100-sxm)";

inline constexpr char kKernelGemmFooter[] =
    R"(Examples:
  64 tokens through Llama-3.1-8B's QKV projection:
    mansard kernel gemm --m 64 --n 6144 --k 4096 --hardware h100-sxm
  The same in FP8:
    mansard kernel gemm --m 64 --n 6144 --k 4096 --weights fp8 --activations fp8 \
        --hardware h100-sxm)";

inline constexpr char kKernelAttentionFooter[] =
    R"(--context includes the tokens computed now: --context minus --tokens are cached already.

Examples:
  One decode step of 64 sequences at 4,096 tokens each:
    mansard kernel attention --phase decode --batch 64 --context 4096 \
        --heads 32 --kv-heads 8 --head-size 128 --hardware h100-sxm
  The scores of a prompt, written to memory and read back:
    mansard kernel attention --phase prefill --context 4096 --heads 32 --head-size 128 \
        --unfused --hardware h100-sxm
  Multi-head latent attention, as DeepSeek-V3 has it on one of eight ranks:
    mansard kernel attention --phase decode --batch 64 --context 4096 --latent \
        --heads 16 --kv-rank 512 --nope 128 --rope 64 --value 128 --hardware h200-sxm)";

inline constexpr char kKernelMoeFooter[] =
    R"(Examples:
  64 tokens through a layer of Mixtral 8x7B:
    mansard kernel moe --tokens 64 --hidden 4096 --experts 8 --top-k 2 --width 14336 \
        --hardware h100-sxm
  With a shared expert, tokens spread evenly:
    mansard kernel moe --tokens 256 --hidden 7168 --experts 256 --top-k 8 --width 2048 \
        --shared-width 2048 --routing spread --weights fp8 --activations fp8 \
        --hardware h200-sxm)";

inline constexpr char kKernelCollectiveFooter[] =
    R"(OP: all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_receive; tokens of a rank
to their experts and back: expert_dispatch, expert_combine (--tokens, --hidden, --experts, --top-k).
Algorithms: one-shot, two-shot, ring, tree, in-switch, hierarchical, direct, low-latency,
throughput. The answer says which one was taken.

Examples:
  mansard kernel collective all_reduce --bytes 16777216 --ranks 8 --hardware h100-sxm
  mansard kernel collective all_gather --bytes 1048576 --ranks 4 --hardware a100-sxm-80gb
  Over two nodes, and a ring in place of what the library takes:
    mansard kernel collective all_reduce --bytes 16777216 --ranks 16 --nodes 2 --algorithm ring \
        --hardware h100-sxm
  fp8 tokens to 256 experts on 16 ranks of two nodes:
    mansard kernel collective expert_dispatch --tokens 128 --hidden 7168 --experts 256 --top-k 8 \
        --ranks 16 --nodes 2 --activations fp8 --hardware h100-sxm)";

inline constexpr char kKernelElementwiseFooter[] =
    R"(Examples:
  mansard kernel elementwise norm --rows 64 --columns 4096 --hardware h100-sxm
  mansard kernel elementwise quantize --rows 4096 --columns 8192 --activations fp8 \
      --hardware h100-sxm)";

inline constexpr char kRooflineFooter[] =
    R"(The flags are those of `mansard estimate`. Ceilings: what the datasheet says, and what the kernel
stack reaches. Flips: where another limit takes over, such as the tokens from which a GEMM is
compute-bound.

Examples:
  mansard roofline --model llama-3.1-8b --hardware h100-sxm --phase decode --batch 64 \
      --context 4096
  mansard roofline --model llama-3.1-70b --hardware h200-sxm --tp 4 --phase prefill \
      --context 8192 --level l2)";

inline constexpr char kKvFooter[] =
    R"(One request's prefix, on one instance of the model. Sources: hbm, its own memory, where nothing
moves; host, the hosts' memory over PCIe; nvlink and rdma, another instance in the same node or in
another; storage, which has no numbers of its own.
floor: bytes at the rate of all links. fetch: at the rate that the kernel stack knows. exposed: of
an instance that computes the prefix now and sends it layer by layer, what is left when it is done.
recompute: one pass over the tokens that are not cached. fetch wins: at which lengths.

Examples:
  mansard kv --model llama-3.1-70b --hardware h100-sxm --tp 4 --tokens 8192 \
      --from host,nvlink,rdma
  Half of it is cached, the other half on disks; or eight NICs lead to it:
    mansard kv --model llama-3.1-70b --hardware h100-sxm --tp 8 --tokens 8192 --cached 4096 \
        --from rdma,storage --nics 8 --storage-bandwidth 10GB/s --storage-latency 200us)";

inline constexpr char kModelGetFooter[] =
    R"(Examples:
  mansard model get llama-3.1-8b
  mansard model get llama-3.1-8b -o textproto > my-model.textproto)";

inline constexpr char kModelDiffFooter[] =
    R"(Layer kinds are compared by their names.

Examples:
  mansard model diff llama-3.1-8b llama-3.1-70b
  mansard model diff llama-3.1-8b ./my-model/config.json -o json)";

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

inline constexpr char kValidateFooter[] =
    R"(A table is known by its columns: each row is one measured kernel, with the columns device,
framework, framework_version, source and latency_us beside those of its shape. Rows with a flag
count for nothing, and of the others only those that no fit has seen, unless --all-rows.
A row is asked of its device's stack for its engine and version; where it names no version, of the
engine's newest stack; of libraries, of the device's own measured stack; else of the first stack.
--tier spec asks as if the device had never been measured: a stack that is scaled from another
device by datasheets, else the first.

A group is the rows of one table, device, software and slice (formats, kernels, ranks). The worst
groups come first; -o md lists those above their target before all others. -o json adds deciles by
size and the worst rows.
--predictions writes every row, flagged ones too, with predicted_us, p10_us, p90_us, floor_us,
bound, tier and extrapolated, empty where there is no answer. Of several tables each is written to
its own file, its name before the ending: OUT.gemm.csv.
Runs in this process: there is no server for it, and --timeout does not count.

Examples:
  mansard validate --measured gemm.csv
  mansard validate --measured gemm.csv,mla.csv --tier spec -o json
  mansard validate --measured gemm.csv --hardware h100-sxm --stack vllm-0.24 --worst 10
  mansard validate --measured gemm.csv --predictions predicted.csv)";

inline constexpr char kStatusFooter[] =
    R"(Exit 1 if a service does not serve, 3 if nobody answers.

Examples:
  mansard status
  mansard --server localhost:7447 status)";

inline constexpr char kModelApplyFooter[] =
    R"(A config.json or its folder works too. What comes with the program gets a revision above it;
`model delete` brings it back. Without --server the catalog is kept in $MANSARD_STATE_DIR, or
$XDG_STATE_HOME/mansard, or ~/.local/state/mansard. Examples:
  mansard model apply my-model -f ./config.json --dry-run
  mansard model get my-model -o json > my-model.json
  mansard model apply -f my-model.json
JSON has the etag: the update is refused where another change came between.)";

inline constexpr char kHardwareApplyFooter[] =
    R"(What comes with the program gets a revision above it; `hardware delete` brings it back. Engines
that name it are resolved anew; where one could not be, nothing changes. Example:
  mansard hardware get h100-sxm -o textproto > mine.textproto
  mansard hardware apply -f mine.textproto)";

inline constexpr char kHardwareDiffFooter[] =
    R"(Files are compared as they would be stored. Examples:
  mansard hardware diff h100-sxm h100-pcie
  mansard hardware diff mine@1a2b3c4d5e6f mine
  mansard hardware diff mine mine.textproto)";

inline constexpr char kEngineGetFooter[] =
    R"(-o textproto prints the file that `engine apply` reads.)";

inline constexpr char kEngineCreateFooter[] =
    R"(An engine follows the newest revisions of its model and hardware. Example:
  mansard engine create prod-a --model llama-3.1-70b --hardware h100-sxm --tp 4 --stack vllm-0.24 \
      --max-batched-tokens 8192 --max-sequences 256 --memory-utilization 0.9
  mansard estimate --engine prod-a --phase decode --batch 64 --context 4096)";

inline constexpr char kEngineApplyFooter[] =
    R"(Example:
  mansard engine get prod-a -o textproto > prod-a.textproto
  mansard engine apply -f prod-a.textproto --dry-run)";

inline constexpr char kEngineDiffFooter[] =
    R"(Examples:
  mansard engine diff prod-a prod-b
  mansard engine diff prod-a prod-a.textproto)";

inline constexpr char kBatchFooter[] =
    R"(The largest batch that holds the targets, as do all smaller ones, what keeps it from one more, and
by how much. Without --input-tokens and --output-tokens the times are of one decode pass (--itl),
and of it over the tokens that a sequence gains (--tpot); with them, of as many requests in flight.
A target that is no engine of the catalog is asked of this program, also beside --server, whose
models and hardware it then takes. Examples:
  mansard batch --engine prod-a --context 4096 --itl 20ms
  A mix of contexts, and a chunk of a prompt in every pass:
    mansard batch --engine prod-a --context 1024=3,8192=1 --itl 30ms --prefill-tokens 512
  Of served load, on a target of one's own:
    mansard batch --model llama-3.1-70b --hardware h100-sxm --tp 4 --stack vllm-0.24 \
        --context 2304 --input-tokens 2048 --output-tokens 512 --ttft 5s --tpot 25ms
  With two drafted tokens, of which 70 % are accepted:
    mansard batch --engine prod-a --context 4096 --itl 30ms --draft-tokens 2 --acceptance 0.7)";

inline constexpr char kPredictFooter[] =
    R"(--queries: a table with columns as the fields of LatencyQuery and EngineState are called: engine,
input_token_count, output_token_count, running_request_count, kv_cache_usage_ratio, ...; ENGINE is
that of rows without one. Or a PredictLatenciesRequest in JSON. Rows fail alone. Examples:
  mansard engine predict prod-a --input-tokens 2048 --output-tokens 256 --running 64 \
      --kv-usage 0.4
  mansard engine predict prod-a --input-tokens 2048 --output-tokens 256 --waiting 3 \
      --prefill-in-flight 12000 --ttft 500ms --tpot 25ms
  mansard engine predict --queries endpoints.csv -o csv)";

inline constexpr char kCapacityFooter[] =
    R"(At a steady state, with as many requests kept in flight as are best. Examples:
  mansard engine capacity prod-a --input-tokens 2048 --output-tokens 256 --ttft 500ms --itl 25ms
  mansard engine capacity prod-a --input-tokens 2048 --output-tokens 256 --prefix-hit 0.5 \
      --objective latency)";

inline constexpr char kLatencyModelFooter[] =
    R"(What autoscalers take: a decode pass takes alpha + beta x batch, the prompts of a batch
gamma + delta x tokens x batch, of the tokens that are computed. Fitted to all batches by relative
error. Example:
  mansard engine latency-model prod-a --input-tokens 2048 --output-tokens 256 --max-batch 64)";

inline constexpr char kLoadFooter[] =
    R"(At a steady state, or as a benchmark that begins all requests at once. The interval is p10 to
p90. Examples:
  mansard engine load prod-a --input-tokens 1024 --output-tokens 512 --concurrency 64
  mansard engine load prod-a --input-tokens 1024 --output-tokens 512 --rate 3.5 -o json)";

inline constexpr char kObserveFooter[] =
    R"(Three runs or steps are enough. The engine keeps the newest 64; its factors are the medians of
measured / predicted, from 0.5 to 2, and show in all of its answers. Columns of the CSV are called
as the fields of Observation, RequestShape and ForwardPassSums:
  input_token_count,output_token_count,concurrency_count,time_to_first_token_seconds,...
  decode_request_count,decode_prior_token_count,step_seconds
--from looks twice at the page of metrics of a vLLM or SGLang and reports the requests that ended
between the looks, 10 at least, as one run: their means, and how many were in the engine. A longer
time is a steadier one. With --reports, each report is a line on standard error, as is what went
wrong: fewer requests, an engine that started anew or does not answer; then it looks again.
Examples:
  mansard engine observe prod-a --file runs.csv
  mansard engine observe prod-a --file runs.csv --forget --apply on
  mansard engine observe prod-a --from http://127.0.0.1:8000/metrics --every 5m --reports 0
  mansard engine observe prod-a --apply off)";

inline constexpr char kEngineImportFooter[] =
    R"(Each flag is part of the engine, or its default is (of vLLM 0.24, SGLang 0.5.14, TensorRT-LLM 1.3),
or belongs to questions about it, or changes times in ways that are not modelled, or none, or is
unknown. Names of the Hugging Face hub are matched to models of the catalog; --model names another.
The stack is the engine's newest on the hardware. Limits of one data rank count for all of them.
-o textproto prints the file that `engine apply` reads. Examples:
  mansard engine import --hardware h100-sxm --vllm-args "vllm serve \
      meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 8 --max-num-seqs 256"
  mansard engine import --hardware h200-sxm --apply prod-b \
      --sglang-args "python -m sglang.launch_server --model deepseek-ai/DeepSeek-V3 --tp 8 --dp 8 \
      --enable-dp-attention"
  mansard engine import --hardware b200-sxm \
      --trtllm-args "trtllm-serve deepseek-ai/DeepSeek-R1 --tp_size 8 --config options.yaml")";

inline constexpr char kCalibrationApplyFooter[] =
    R"(The stack takes the place of the hardware's stack with its id, or comes last; what that changes
is printed, field by field. Where someone else has changed the hardware since, nothing is applied.
`mansard-calibrate run` writes such a file; with the same file the command may be repeated. Examples:
  mansard calibration apply h100-sxm/2026-11-30 -f calibration.textproto --dry-run
  mansard calibration apply h100-sxm/2026-11-30 -f calibration.textproto)";

}  // namespace mansard::cli::help
