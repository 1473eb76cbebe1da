// Releases and their files.
import { digestOf } from "./blobs.ts";
import { type Call, notFound, ok, paginate, type Route, textOf, unprocessable } from "./http.ts";
import { type Json, pageUrl, renderUser, repositoryUrl } from "./render.ts";
import type { Asset, Release } from "./state.ts";
import { nodeIdOf, type World } from "./world.ts";

function renderAsset(world: World, release: Release, asset: Asset): Json {
	return {
		...{
			id: asset.id,
			node_id: nodeIdOf("RA", asset.id),
			name: asset.name,
			label: asset.label,
			state: "uploaded",
		},
		url: `${repositoryUrl(world)}/releases/assets/${asset.id}`,
		browser_download_url: pageUrl(world, `/releases/download/${release.tag}/${asset.name}`),
		...{
			content_type: asset.contentType,
			size: asset.content.length,
			digest: digestOf(asset.content),
			download_count: 0,
		},
		...{
			created_at: asset.createdAt,
			updated_at: asset.createdAt,
			uploader: renderUser(world, "github-actions[bot]"),
		},
	};
}

function renderRelease(world: World, release: Release): Json {
	const url = `${repositoryUrl(world)}/releases/${release.id}`;
	return {
		...{ id: release.id, node_id: nodeIdOf("RE", release.id), url, assets_url: `${url}/assets` },
		html_url: pageUrl(world, `/releases/tag/${release.tag}`),
		upload_url: `${world.url}/uploads/repos/${world.repository}/releases/${release.id}/assets{?name,label}`,
		tarball_url: `${repositoryUrl(world)}/tarball/${release.tag}`,
		zipball_url: `${repositoryUrl(world)}/zipball/${release.tag}`,
		...{ tag_name: release.tag, target_commitish: release.target, name: release.name, body: release.body },
		...{ draft: release.isDraft, prerelease: release.isPrerelease, created_at: release.createdAt },
		published_at: release.isDraft ? null : release.createdAt,
		author: renderUser(world, "octocat"),
		assets: release.assets.map((asset) => renderAsset(world, release, asset)),
	};
}

export type NewRelease = Partial<Release> & Pick<Release, "tag">;

export function addRelease(world: World, release: NewRelease): Release {
	const added: Release = {
		...{
			id: world.nextId(),
			name: release.tag,
			body: null,
			target: world.state.defaultBranch,
			isDraft: false,
			isPrerelease: false,
		},
		...{ createdAt: world.now(), assets: [] },
		...release,
	};
	world.state.releases.push(added);
	return added;
}

/** Newest first; drafts are seen by writers alone, and a read token is what most jobs have. */
function published(world: World): Release[] {
	return world.state.releases.filter((release) => !release.isDraft).reverse();
}

function findRelease(call: Call): Release | undefined {
	return call.world.state.releases.find((release) => release.id === Number(call.params["release_id"]));
}

function shown(call: Call, release: Release | undefined) {
	return release ? ok(renderRelease(call.world, release)) : notFound();
}

const read = [{ contents: "read" }] as const;

export const releaseRoutes: readonly Route[] = [
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/releases",
		needs: read,
		handle: (call) =>
			paginate(
				call,
				published(call.world).map((release) => renderRelease(call.world, release)),
			),
	},
	{
		method: "POST",
		template: "/repos/{owner}/{repo}/releases",
		needs: [{ contents: "write" }],
		handle(call) {
			const tag = textOf(call, "tag_name") ?? "";
			if (call.world.state.releases.some((release) => release.tag === tag))
				return unprocessable("Release", "tag_name", { code: "already_exists" });
			const release = addRelease(call.world, {
				...{ tag, name: textOf(call, "name") ?? null, body: textOf(call, "body") ?? null },
				target: textOf(call, "target_commitish") ?? call.world.state.defaultBranch,
				...{ isDraft: call.body["draft"] === true, isPrerelease: call.body["prerelease"] === true },
			});
			return ok(renderRelease(call.world, release), 201);
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/releases/latest",
		needs: read,
		handle: (call) =>
			shown(
				call,
				published(call.world).find((release) => !release.isPrerelease),
			),
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/releases/tags/{tag}",
		needs: read,
		handle: (call) =>
			shown(
				call,
				published(call.world).find((release) => release.tag === call.params["tag"]),
			),
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/releases/{release_id}",
		needs: read,
		handle: (call) => shown(call, findRelease(call)),
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/releases/{release_id}/assets",
		needs: read,
		handle(call) {
			const release = findRelease(call);
			return release
				? paginate(
						call,
						release.assets.map((asset) => renderAsset(call.world, release, asset)),
					)
				: notFound();
		},
	},
	{
		method: "POST",
		template: "/uploads/repos/{owner}/{repo}/releases/{release_id}/assets",
		needs: [{ contents: "write" }],
		handle(call) {
			const release = findRelease(call);
			const name = call.query.get("name") ?? "";
			if (!release || name === "") return notFound();
			if (release.assets.some((asset) => asset.name === name))
				return unprocessable("ReleaseAsset", "name", { code: "already_exists" });
			const contentType = call.headers["content-type"] ?? "application/octet-stream";
			const asset: Asset = {
				...{
					id: call.world.nextId(),
					name,
					label: call.query.get("label"),
					contentType,
					content: call.bytes,
					createdAt: call.world.now(),
				},
			};
			release.assets.push(asset);
			return ok(renderAsset(call.world, release, asset), 201);
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/releases/assets/{asset_id}",
		needs: read,
		handle(call) {
			for (const release of call.world.state.releases) {
				const asset = release.assets.find((candidate) => candidate.id === Number(call.params["asset_id"]));
				if (!asset) continue;
				if (/octet-stream/.test(call.headers["accept"] ?? ""))
					return { status: 200, body: asset.content, headers: { "content-type": asset.contentType } };
				return ok(renderAsset(call.world, release, asset));
			}
			return notFound();
		},
	},
];
