// Leaves out of the bundle what the toolkit's packages carry and this program never runs.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Plugin } from "rolldown";

const require = createRequire(import.meta.url);
const packages = join(dirname(require.resolve("rolldown/package.json")), "..");
const at = (path: string): string => join(packages, path);
const quoted = (path: string): string => JSON.stringify(at(path));

interface Stand {
	/** What is imported: a specifier, or the end of a resolved path. */
	imported: RegExp;
	/** Who imports it; anyone where it is left out. */
	by?: RegExp;
	/** CommonJS or a module, in its place. */
	code: string;
}

const nothing = "module.exports = {};";
const emptyClass = (name: string): string => `export class ${name} {}`;

/** Zip is written and read; tar and JSON archives, globs, and old copies of Node's own streams are not needed for it. */
const archives: readonly Stand[] = [
	{ imported: /^readable-stream$/, code: 'module.exports = require("node:stream");' },
	{ imported: /^readable-stream\/passthrough$/, code: 'module.exports = require("node:stream").PassThrough;' },
	{ imported: /^async$/, by: /\/archiver\//, code: `module.exports = { queue: require(${quoted("async/queue.js")}) };` },
	{ imported: /^readdir-glob$/, by: /\/archiver\//, code: nothing },
	{ imported: /^\.\/lib\/plugins\/(tar|json)$/, by: /\/archiver\//, code: "module.exports = class { append() {} finalize() {} };" },
	{ imported: /^\.\/file\.js$/, by: /\/archiver-utils\//, code: nothing },
	{ imported: /^graceful-fs$/, by: /\/archiver-utils\//, code: 'module.exports = require("node:fs");' },
];

/** The toolkit takes fetch and its proxy from undici; Node 24 has its own of all the rest. */
const network: readonly Stand[] = [
	{
		imported: /^undici$/,
		code: [
			`const { fetch } = require(${quoted("undici/lib/web/fetch/index.js")});`,
			`const { setGlobalDispatcher, getGlobalDispatcher } = require(${quoted("undici/lib/global.js")});`,
			`const ProxyAgent = require(${quoted("undici/lib/dispatcher/proxy-agent.js")});`,
			`const Agent = require(${quoted("undici/lib/dispatcher/agent.js")});`,
			"module.exports = { fetch, ProxyAgent, Agent, setGlobalDispatcher, getGlobalDispatcher };",
		].join("\n"),
	},
	// Every machine of the last fifteen years has the other one, with vector instructions.
	{ imported: /\/llhttp\/llhttp-wasm\.js$/, code: "module.exports = null;" },
	{ imported: /\/eventsource\//, by: /\/undici\//, code: nothing },
];

/** Requests go by their routes; of the named methods only those are called that the artifact client calls. */
const names: readonly Stand[] = [
	{
		imported: /\/generated\/endpoints\.js$/,
		by: /plugin-rest-endpoint-methods/,
		code: `export default { actions: {
			deleteArtifact: ["DELETE /repos/{owner}/{repo}/actions/artifacts/{artifact_id}"],
			downloadArtifact: ["GET /repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}"],
		} };`,
	},
	// The version of zstd is only told to those who debug.
	{ imported: /^semver$/, by: /@actions\/cache/, code: "export const clean = (version) => version;" },
	{ imported: /\/test-transport$/, by: /protobuf-ts/, code: nothing },
];

/** Blobs are written and read; containers, accounts, pages and queries are other products. */
const blobs: readonly Stand[] = [
	{ imported: /\.\/container\.js$/, by: /storage-blob.*operations/, code: emptyClass("ContainerImpl") },
	{ imported: /\.\/service\.js$/, by: /storage-blob.*operations/, code: emptyClass("ServiceImpl") },
	{ imported: /\.\/pageBlob\.js$/, by: /storage-blob.*operations/, code: emptyClass("PageBlobImpl") },
	{ imported: /\.\/appendBlob\.js$/, by: /storage-blob.*operations/, code: emptyClass("AppendBlobImpl") },
	{ imported: /\/BlobQueryResponse(\.js)?$/, by: /storage-blob/, code: emptyClass("BlobQueryResponse") },
	{
		imported: /\/BlobSASSignatureValues\.js$/,
		by: /storage-blob/,
		code: "export const generateBlobSASQueryParameters = undefined, generateBlobSASQueryParametersInternal = undefined;",
	},
	{
		// A list of blocks is written, an error's code and message are read: names and text, nothing nested in attributes.
		imported: /^@azure\/core-xml$/,
		code: `
			export const XML_ATTRKEY = "$", XML_CHARKEY = "_";
			const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
			const escape = (text) => String(text).replace(/[&<>"]/g, (char) => entities[char]);
			const element = (name, value) =>
				Array.isArray(value) ? value.map((one) => element(name, one)).join("")
				: "<" + name + ">" + (value !== null && typeof value === "object"
					? Object.entries(value).filter(([key]) => key !== XML_ATTRKEY).map(([key, one]) => element(key, one)).join("")
					: escape(value)) + "</" + name + ">";
			export const stringifyXML = (value, options = {}) =>
				'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>' + element(options.rootName ?? "root", value);
			export const parseXML = async (text, options = {}) => {
				const root = /<([A-Za-z]\\w*)[^>]*>([^]*)<\\/\\1>/.exec(text.replace(/<\\?[^>]*\\?>/, ""));
				if (root === null) throw new Error("no XML");
				const fields = Object.fromEntries([...root[2].matchAll(/<([A-Za-z]\\w*)[^>]*>([^<]*)<\\/\\1>/g)].map(([, name, value]) => [name, value]));
				return options.includeRoot ? { [root[1]]: fields } : fields;
			};`,
	},
	{ imported: /^@azure\/core-lro$/, by: /storage-blob/, code: "export class Poller {}" },
];

/** Descriptions of what the service says, of all but these requests. */
const mappersFile = /storage-blob\/.*\/models\/mappers\.js$/;
const keptMappers =
	/^(StorageError|BlockLookupList|Blob(Download|GetProperties)\w*|BlockBlob(Upload|StageBlock|CommitBlockList)(Exception)?Headers)$/;

/** Each unused description becomes an empty one: nothing asks for it. */
function thinMappers(source: string): string {
	const thin = source.split(/^(?=export const )/m).map((block) => {
		const name = /^export const (\w+)/.exec(block)?.[1];
		return name === undefined || keptMappers.test(name) ? block : `export const ${name} = none;\n`;
	});
	return `const none = { type: { name: "Composite", modelProperties: {} } };\n${thin.join("")}`;
}

const stands = [...archives, ...network, ...names, ...blobs];
const mark = "\0slim:";

/** Stands small modules in the place of large ones. */
export function slim(): Plugin {
	return {
		name: "slim",
		resolveId(specifier, importer = "") {
			const found = stands.findIndex(({ imported, by }) => imported.test(specifier) && (by === undefined || by.test(importer)));
			if (found >= 0 && !importer.startsWith(mark)) return `${mark}${found}.${stands[found]?.code.includes("export ") ? "mjs" : "cjs"}`;
			// The older of two copies of the toolkit's HTTP client does the same.
			if (specifier === "@actions/http-client" && importer.includes("@actions/github")) return at("@actions/http-client/lib/index.js");
			return null;
		},
		load(id) {
			if (mappersFile.test(id)) return thinMappers(readFileSync(id, "utf8"));
			return id.startsWith(mark) ? (stands[Number.parseInt(id.slice(mark.length), 10)]?.code ?? null) : null;
		},
	};
}
