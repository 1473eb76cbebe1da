import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
	expectExit,
	expectRefusal,
	quickProject,
	runCli,
	temporaryFolder,
	untimed,
} from "../support/project.ts";

const rights = {
	GH_ENTERPRISE_TOKEN: "hunter2",
	GITHUB_ENTERPRISE_TOKEN: "hunter2",
	HF_TOKEN: "hunter2",
	AWS_SECRET_ACCESS_KEY: "hunter2",
	ACTIONS_RUNTIME_URL: "hunter2",
};

function watching(prepare: string): string {
	const golden = JSON.parse(readFileSync("test/fixtures/project/golden/golden.json", "utf8"));
	golden.outputs.y.comparators = [{ kind: "custom", name: "look" }];
	const look = 'env >judge.txt; echo "{\\"value\\": 0, \\"pass\\": true}"';
	return quickProject(temporaryFolder(), {
		"golden/golden.json": JSON.stringify(golden),
		"trtgate.yml": `${untimed().replace("    onnx: model.onnx", `    onnx: made.onnx\n    prepare: ${prepare}`)}comparators: { look: { command: [sh, -c, '${look.replaceAll("\\\\", "\\")}'] } }\n`,
	});
}

const command = "env >prepare.txt; cp model.onnx made.onnx";

it("no program is given a variable that carries rights", async () => {
	const folder = watching(command);
	const run = await runCli(["run", "--out", "out"], { cwd: folder, env: { ...rights, PLAIN: "seen" } });
	expectExit(run, 0);
	for (const name of ["prepare.txt", "judge.txt"]) {
		const seen = readFileSync(join(folder, name), "utf8");
		expect(seen).toContain("PLAIN=seen");
		expect(seen, name).not.toContain("hunter2");
	}
});

it("only a prepare command receives what its config names, and the dry run reports the names without values", async () => {
	const folder = watching(`{ command: "${command}", env: [HF_TOKEN, NOT_SET_KEY] }`);
	const dry = await runCli(["run", "--dry-run"], { cwd: folder, env: rights });
	expect(dry.stdout).toMatch(/prepare +head +net: env >prepare\.txt.*, given HF_TOKEN, NOT_SET_KEY/);
	expect(dry.stdout).toContain(
		"No command is given ACTIONS_RUNTIME_URL, AWS_SECRET_ACCESS_KEY, GH_ENTERPRISE_TOKEN, GITHUB_ENTERPRISE_TOKEN;",
	);
	expect(dry.stdout).toContain("not set here: NOT_SET_KEY.");
	expect(dry.stdout).not.toContain("hunter2");
	const run = await runCli(["run", "--out", "out"], { cwd: folder, env: rights });
	expectExit(run, 0);
	expect(readFileSync(join(folder, "prepare.txt"), "utf8").match(/.*hunter2/g)).toEqual(["HF_TOKEN=hunter2"]);
	expect(readFileSync(join(folder, "judge.txt"), "utf8")).not.toContain("hunter2");
});

it("the runner's own variables cannot be named", async () => {
	for (const name of ["ACTIONS_RUNTIME_TOKEN", "INPUT_TOKEN", "GITHUB_ENV"]) {
		const run = await runCli(["run"], { cwd: watching(`{ command: "true", env: [${name}] }`) });
		expectRefusal(run, `prepare.env[0] names ${name}, which belongs to the runner`);
		expect(run.stderr).toMatch(/belongs to the runner.*\[config-value\]/);
	}
});
