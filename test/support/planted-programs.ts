import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { installFakeNative } from "./fake-native.ts";
import { writeProject } from "./project.ts";

/** Programs that trtgate starts by name, and programs that those may start in turn. */
const programs = [
	"trtexec",
	"nvidia-smi",
	"nsys",
	"ncu",
	"git",
	"git-lfs",
	"git-remote-https",
	"python3",
	"nvpmodel",
	"tegrastats",
	"node",
];
/** Python modules that a worker imports, or that Python imports at every start. */
const modules = ["tensorrt", "sitecustomize", "usercustomize", "json", "argparse", "cuda"];
const packages = ["onnxruntime-node", "onnxruntime-web", "onnxruntime-common", "kerberos"];

export interface Planted {
	ran(): string[];
	mark(name: string): string;
	into(workspace: string): void;
	searchPaths(workspace: string, path: string): Record<string, string>;
}

export function plantedPrograms(marks: string): Planted {
	mkdirSync(marks, { recursive: true });
	const mark = (name: string): string => `echo >"${join(marks, name)}"`;
	const script = (name: string): string => `#!/bin/sh\n${mark(name)}\nexit 1\n`;
	const javascript = (name: string): string =>
		`require("fs").writeFileSync(${JSON.stringify(join(marks, name))}, "");\n`;
	const python = (name: string): string => `open(${JSON.stringify(join(marks, name))}, "w").close()\n`;
	return {
		mark,
		ran: () => (existsSync(marks) ? readdirSync(marks).sort() : []),
		into(workspace) {
			installFakeNative(workspace);
			writeProject(workspace, {
				...Object.fromEntries(
					["", "bin/", "node_modules/.bin/"].flatMap((at) =>
						programs.map((name) => [`${at}${name}`, script(name)]),
					),
				),
				...Object.fromEntries(modules.map((name) => [`${name}.py`, python(`${name}.py`)])),
				...Object.fromEntries(packages.map((name) => [`node_modules/${name}/index.js`, javascript(name)])),
				"package.json": JSON.stringify({
					scripts: { preinstall: mark("package.json"), prepare: mark("package.json") },
				}),
				".npmrc": `node-options=--require ./evil.cjs\nscript-shell=./bin/trtexec\n`,
				"evil.cjs": javascript("evil.cjs"),
				".lfsconfig":
					'[lfs]\n\tstandalonetransferagent = evil\n[lfs "customtransfer.evil"]\n\tpath = ./bin/git-lfs\n',
				".gitattributes": "*.txt filter=evil diff=evil merge=evil\n*.onnx filter=evil\n",
				".gitconfig": `[filter "evil"]\n\tsmudge = ${mark("smudge")}\n\tclean = ${mark("clean")}\n[core]\n\thooksPath = .githooks\n`,
				".gitmodules": '[submodule "evil"]\n\tpath = evil\n\turl = ./evil\n\tupdate = !./bin/git\n',
				...Object.fromEntries([".githooks", "hooks"].map((at) => [`${at}/post-checkout`, script("hook")])),
				// A folder that looks like a bare repository.
				...{ HEAD: "ref: refs/heads/main\n", "objects/.keep": "", "refs/.keep": "" },
				config: `[core]\n\tfsmonitor = ${join(workspace, "bin/git")}\n\tsshCommand = ${join(workspace, "bin/git")}\n`,
				".bashrc": `${mark("bashrc")}\n`,
				".profile": `${mark("profile")}\n`,
				".envrc": `${mark("envrc")}\n`,
				"unnamed-prepare.sh": script("unnamed-prepare"),
				"unnamed-comparator.sh": script("unnamed-comparator"),
				"plugins/unnamed.so": "not loaded",
				"libnvinfer_plugin.so.10": "not loaded",
			});
			for (const at of [".", "bin", "node_modules/.bin", ".githooks", "hooks"])
				for (const name of [...programs, "post-checkout"])
					if (existsSync(join(workspace, at, name))) chmodSync(join(workspace, at, name), 0o755);
		},
		searchPaths: (workspace, path) => ({
			PATH: [workspace, `${workspace}/bin`, "", ".", "node_modules/.bin", path].join(":"),
			LD_LIBRARY_PATH: `${workspace}:.:`,
			PYTHONPATH: `${workspace}:.:`,
		}),
	};
}
