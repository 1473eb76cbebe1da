import { expect, it } from "vitest";
import { openPlay } from "../support/github-play.ts";
import {
	expectExit,
	expectRefusal,
	gateFolders,
	quickProject,
	runCli,
	temporaryFolder,
	twoProjects,
	untimed,
	untimedFiles,
} from "../support/project.ts";

const wrong = { ...untimedFiles, "model.onnx": "fixture:wrong.onnx" };

const withGolden = (gates: string): string => untimed().replace("gates: {", `gates: { golden: { ${gates} },`);

it("the gate does not block a pull request for a golden that its base fails too, and reports it everywhere", async () => {
	const play = await openPlay();
	const base = play.commit(wrong, { ref: "refs/heads/main" });
	const head = play.commit({ "notes.txt": "new" }, { onto: base });
	const { run, result } = await play.pull({ base, head });
	const { github } = play;
	expectExit(run, 0);
	const { outcome, golden, gates } = result();
	expect(outcome).toBe("warn");
	expect(golden.map(({ state }) => state)).toEqual(["existing", "existing"]);
	expect(gates.filter(({ gate }) => gate === "golden")).toMatchObject(
		Array(2).fill({ status: "warn", message: expect.stringContaining("this change did not cause it") }),
	);
	const topic = "1 pre-existing golden mismatch";
	expect(github.state.comments[0]?.body).toContain("fails its goldens in");
	expect(github.state.comments[0]?.body).toContain("as the base does; this change did not cause it");
	expect(github.state.checkRuns).toMatchObject([
		{ conclusion: "success", title: expect.stringContaining(topic) },
	]);
	expect(github.state.checkRuns[0]?.annotations).toMatchObject([
		{ annotation_level: "warning", message: expect.stringContaining("did not cause it") },
	]);
	expect(run.summary).toContain("golden: { existing: fail }");
});

it("the gate fails for it if the config requires it", async () => {
	const fails = { ...wrong, "trtgate.yml": withGolden("existing: fail") };
	const { run, result, report } = await gateFolders(twoProjects(fails, fails));
	expectExit(run, 1);
	expect(result.golden.map(({ state }) => state)).toEqual(["existing", "existing"]);
	expect(run.stdout.replace(/\s+/g, " ")).toContain("1 pre-existing golden mismatch");
	for (const name of ["report.md", "report.html", "junit.xml"])
		expect(report(name), name).toContain("this change did not cause it");
});

it.each([
	["", 1, "fail"],
	["error-growth: { fail: off }, ", 0, "warn"],
])(
	"the gate judges an error far above the base's within a wide limit, with %j: exit %i",
	async (limits, exit, severity) => {
		const config = { "trtgate.yml": withGolden(`${limits}relative-l2: 10`) };
		const { run, result, report } = await gateFolders(
			twoProjects(config, { ...config, "model.onnx": "fixture:wrong.onnx" }),
		);
		expectExit(run, exit);
		const growth = result.golden.map(({ checks }) => checks.find(({ metric }) => metric === "error-growth"));
		expect(growth.map((check) => check?.severity)).toEqual([severity, severity]);
		expect(report("report.md")).toMatch(
			/the fp32 error grew [\d,]+×, [^;]*: (warns|fails); its relative L2 went from noise \(\S+\) in the base to 0\.\d+/,
		);
		expect(growth[0]?.detail).toMatch(exit === 1 ? /: fails; / : /×, above 2×: warns; /);
	},
);

it("the gate refuses limits on growth in the wrong order, and below the base's own error", async () => {
	const cwd = temporaryFolder();
	const refused = async (limits: string) => {
		quickProject(cwd, { "trtgate.yml": withGolden(`error-growth: { ${limits} }`) });
		return runCli(["run", "--dry-run"], { cwd });
	};
	expectRefusal(await refused("warn: 20"), /is 20×, above the limit that fails, 10×/);
	expectRefusal(await refused("warn: 0.5"), "error-growth");
});
