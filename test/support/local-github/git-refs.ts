// Refs of the repository: created, moved forward or by force, deleted.
import type { GitStore } from "./git.ts";
import { typeOf } from "./git-objects.ts";
import { type Call, notFound, ok, type Reply, type Route, refuse, textOf } from "./http.ts";
import { type Json, repositoryUrl } from "./render.ts";
import { nodeIdOf, type World } from "./world.ts";

function renderRef(world: World, ref: string, object: { sha: string; type: string }): Json {
	const url = `${repositoryUrl(world)}/git`;
	return {
		ref,
		node_id: nodeIdOf("REF", ref.length),
		url: `${url}/${ref}`,
		object: { ...object, url: `${url}/${object.type}s/${object.sha}` },
	};
}

/** Refs that begin so, with what they point at. */
async function refsUnder(
	git: GitStore,
	prefix: string,
): Promise<{ ref: string; sha: string; type: string }[]> {
	const lines = (await git.run(["for-each-ref", "--format=%(refname) %(objectname) %(objecttype)"]))
		.toString()
		.trimEnd()
		.split("\n");
	return lines
		.map((line) => line.split(" "))
		.filter(([ref]) => ref?.startsWith(prefix))
		.map(([ref = "", sha = "", type = ""]) => ({ ref, sha, type }));
}

async function findRef(
	git: GitStore,
	ref: string,
): Promise<{ ref: string; sha: string; type: string } | undefined> {
	return (await refsUnder(git, ref)).find((found) => found.ref === ref);
}

/** Whether git did it; it says no by failing. */
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
	return ok(renderRef(call.world, ref, { sha, type }), 201);
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
	return ok(renderRef(call.world, found.ref, { sha, type }));
}

export const refRoutes: readonly Route[] = [
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/git/ref/{ref}",
		needs: [{ contents: "read" }],
		async handle(call) {
			const found = await findRef(await call.world.git(), fullRef(call));
			return found ? ok(renderRef(call.world, found.ref, { sha: found.sha, type: found.type })) : notFound();
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/git/matching-refs/{ref}",
		needs: [{ contents: "read" }],
		async handle(call) {
			const found = await refsUnder(await call.world.git(), fullRef(call));
			return ok(found.map(({ ref, sha, type }) => renderRef(call.world, ref, { sha, type })));
		},
	},
	{
		method: "POST",
		template: "/repos/{owner}/{repo}/git/refs",
		needs: [{ contents: "write" }],
		handle: createRef,
	},
	{
		method: "PATCH",
		template: "/repos/{owner}/{repo}/git/refs/{ref}",
		needs: [{ contents: "write" }],
		handle: updateRef,
	},
	{
		method: "DELETE",
		template: "/repos/{owner}/{repo}/git/refs/{ref}",
		needs: [{ contents: "write" }],
		async handle(call) {
			const git = await call.world.git();
			const found = await findRef(git, fullRef(call));
			if (!found) return refuse(422, "Reference does not exist");
			await git.run(["update-ref", "-d", found.ref]);
			return { status: 204 };
		},
	},
];
