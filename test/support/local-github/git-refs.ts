import type { GitStore } from "./git.ts";
import { typeOf } from "./git-objects.ts";
import { type Call, notFound, ok, type Reply, type Route, refuse, route, textOf } from "./http.ts";
import type { Json } from "./render.ts";

function renderRef(ref: string, object: { sha: string; type: string }): Json {
	return { ref, object };
}

async function findRef(
	git: GitStore,
	ref: string,
): Promise<{ ref: string; sha: string; type: string } | undefined> {
	const format = "--format=%(refname) %(objectname) %(objecttype)";
	const lines = (await git.run(["for-each-ref", format])).toString().split("\n");
	const [, sha = "", type = ""] = lines.find((line) => line.startsWith(`${ref} `))?.split(" ") ?? [];
	return sha === "" ? undefined : { ref, sha, type };
}

function succeeds(command: Promise<unknown>): Promise<boolean> {
	return command.then(
		() => true,
		() => false,
	);
}

function fullRef(call: Call): string {
	return `refs/${(call.params["ref"] ?? "").replace(/^refs\//, "")}`;
}

async function createRef(call: Call): Promise<Reply> {
	const git = await call.world.git();
	const [ref, sha] = [textOf(call, "ref") ?? "", textOf(call, "sha") ?? ""];
	if (!/^refs\/[^/]+\/.+/.test(ref))
		return refuse(422, "Reference name must start with 'refs' and have at least two slashes.");
	const type = await typeOf(git, sha);
	if (type === undefined) return refuse(422, "Object does not exist");
	if (await findRef(git, ref)) return refuse(422, "Reference already exists");
	// Lost against a rival, or a name that git does not take.
	const wasMade = await succeeds(git.run(["update-ref", ref, sha, "0".repeat(40)]));
	if (!wasMade) return refuse(422, "Reference could not be created");
	return ok(renderRef(ref, { sha, type }), 201);
}

async function updateRef(call: Call): Promise<Reply> {
	const git = await call.world.git();
	const found = await findRef(git, fullRef(call));
	if (!found) return refuse(422, "Reference does not exist");
	const sha = textOf(call, "sha") ?? "";
	const type = await typeOf(git, sha);
	if (type === undefined) return refuse(422, "Object does not exist");
	const isAhead = await succeeds(git.run(["merge-base", "--is-ancestor", found.sha, sha]));
	if (!isAhead && call.body["force"] !== true) return refuse(422, "Update is not a fast forward");
	if (!(await succeeds(git.run(["update-ref", found.ref, sha, found.sha]))))
		return refuse(422, "Reference cannot be updated");
	return ok(renderRef(found.ref, { sha, type }));
}

export const refRoutes: readonly Route[] = [
	route("GET /git/ref/{ref}", [{ contents: "read" }], async (call) => {
		const found = await findRef(await call.world.git(), fullRef(call));
		return found ? ok(renderRef(found.ref, { sha: found.sha, type: found.type })) : notFound();
	}),
	route("POST /git/refs", [{ contents: "write" }], createRef),
	route("PATCH /git/refs/{ref}", [{ contents: "write" }], updateRef),
];
