// Stands in for nvidia-smi: replays captured CSV. Options before its own arguments, as name=value:
// samples=FILE (CSV with header) steady=yes (only rows under load, again and again) speed=N apps=FILE (CSV with header) gpm=FILE gpus=N slice=PROFILE driver=610 fault=NAME[:ROW].
// Faults, from that row of samples on: hang, lost, na, columns, end; at the start: silent,
// no-driver, no-devices, deaf (hangs and ignores SIGTERM).
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const fixtures = join(dirname(fileURLToPath(import.meta.url)), "../../fixtures/nvidia-smi");
const own = new Map();
const args = process.argv.slice(2);
while (/^[a-z]+=/.test(args[0] ?? "")) {
	const [name, ...value] = args.shift().split("=");
	own.set(name, value.join("="));
}
const [fault, faultRow = "0"] = (own.get("fault") ?? "").split(":");
const speed = Number(own.get("speed") ?? 1);
const read = (name) => readFileSync(name.includes("/") ? name : join(fixtures, name), "utf8");
const say = (line) => process.stdout.write(`${line}\n`);
const forever = () => setInterval(() => {}, 1 << 30);
const optionOf = (name) => args.find((arg) => arg.startsWith(`${name}=`))?.slice(name.length + 1);
const everyMs = args.includes("-lms") ? Number(args[args.indexOf("-lms") + 1]) / speed : null;

/** Rows of a captured CSV by the names of its header, units cut off. */
function table(text) {
	const [header, ...rows] = text.trim().split("\n");
	const names = header.split(", ").map((name) => name.replace(/ \[.*$/, ""));
	return rows.map(
		(row) => new Map(row.split(", ").map((cell, at) => [names[at], cell.replace(/ (%|MiB|MHz|W)$/, "")])),
	);
}

const longNames = {
	"clocks.sm": "clocks.current.sm",
	"clocks.mem": "clocks.current.memory",
	clocks_throttle_reasons: "clocks_event_reasons",
};

function project(row, names) {
	return names.map((name) => row.get(name) ?? row.get(longNames[name]) ?? "[N/A]").join(", ");
}

function replay(rows, print) {
	let at = 0;
	const timer = setInterval(() => {
		if (at === rows.length) return;
		print(rows[at], at);
		at += 1;
	}, everyMs);
	return timer;
}

const faults = {
	lost: () => "GPU is lost",
	na: (names) => names.map(() => "[N/A]").join(", "),
	columns: (_, line) => `${line}, 12, 34`,
};

/** The idle ends of a recording would make runs differ for a reason that no test means. */
function sampledRows() {
	const rows = table(read(own.get("samples") ?? "h200-query-load.csv"));
	if (!own.has("steady")) return rows;
	const busy = rows.filter((row) => Number(row.get("clocks.current.sm")) === 1530);
	return Array.from({ length: 6_000 }, (_, at) => busy[at % busy.length]);
}

function samples(names) {
	const rows = sampledRows();
	const timer = replay(rows, (row, at) => {
		const line = project(row, names);
		if (fault === "" || at < Number(faultRow)) return say(line);
		if (fault === "hang") {
			clearInterval(timer);
			return forever();
		}
		if (fault === "end") process.exit(15);
		say(faults[fault] ? faults[fault](names, line) : line);
	});
}

function inventory(names) {
	const [row] = table(read("h200-query-idle.csv"));
	for (let index = 0; index < Number(own.get("gpus") ?? 1); index += 1) {
		const one = new Map(row).set("index", String(index));
		if (index > 0) one.set("uuid", `GPU-${index}0000000-0000-0000-0000-000000000000`);
		say(project(one, names));
	}
}

function apps() {
	const print = () => {
		if (own.has("apps")) for (const row of table(read(own.get("apps")))) say([...row.values()].join(", "));
	};
	print();
	if (everyMs !== null) setInterval(print, everyMs);
}

if (fault === "deaf") process.on("SIGTERM", () => {});
if (fault === "silent" || fault === "deaf") forever();
else if (fault === "no-driver") {
	say(
		"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.",
	);
	process.exitCode = 9;
} else if (args.includes("--help-query-gpu")) process.stdout.write(read("h200-help-query-gpu.txt"));
else if (args.includes("-L")) {
	process.stdout.write(read("h200-L.txt"));
	if (own.has("slice"))
		say(`  MIG ${own.get("slice")}     Device  0: (UUID: MIG-00000000-0000-0000-0000-000000000001)`);
} else if (args[0] === "--version")
	say(
		own.get("driver") === "610"
			? 'NVIDIA-SMI version  : 610.57.04\nCUDA version        : Deprecated, see "CUDA UMD version" instead\nCUDA UMD version    : 13.3'
			: read("h200-version.txt").trimEnd(),
	);
else if (args[0] === "dmon") {
	if (own.has("gpm")) replayLines(read(own.get("gpm")).trimEnd().split("\n"));
	else {
		say("Not supported on the device(s)");
		process.exitCode = 3;
	}
} else if (optionOf("--query-compute-apps")) apps();
else if (optionOf("--query-gpu")) {
	const names = optionOf("--query-gpu").split(",");
	if (everyMs !== null) samples(names);
	else if (fault === "no-devices") {
		say("No devices were found");
		process.exitCode = 6;
	} else inventory(names);
}

function replayLines(lines) {
	setInterval(() => {
		const line = lines.shift();
		if (line !== undefined) say(line);
	}, 1000 / speed);
}
