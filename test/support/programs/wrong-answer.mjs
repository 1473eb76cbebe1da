// Answers a worker's job with a well-formed reply that does not hold, chosen by the job's model path.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const job = JSON.parse(readFileSync(process.argv[2], "utf8"));
const output = (shape, path) => ({ state: "done", outputs: [{ name: "y", dtype: "float32", shape, path }] });
const replies = {
	"short-output": () => {
		writeFileSync(join(job.outputFolder, "out-0-0.bin"), "123");
		return { kind: "infer", cases: [output([2], "out-0-0.bin")] };
	},
	"lost-output": () => ({ kind: "infer", cases: [output([2], "out-9-9.bin")] }),
	"outside-output": () => ({ kind: "infer", cases: [output([2], "../../../etc/passwd")] }),
	"huge-output": () => ({ kind: "infer", cases: [output([1e9, 1e9, 1e9], "out-0-0.bin")] }),
	"few-cases": () => ({ kind: "infer", cases: [] }),
	"other-job": () => ({ kind: "build", version: "1", saved: false, note: "" }),
};
const name = Object.keys(replies).find((key) => job.modelPath.includes(key));
writeFileSync(job.resultPath, JSON.stringify(replies[name]()));
