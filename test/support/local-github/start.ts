/**
 * A stateful GitHub on 127.0.0.1: REST at its root, the viewer at /graphql, artifact and cache services under /twirp, their blobs under
 * /blobs. A test ends with `expect(github.state.violations).toEqual([])`. `close` throws where a reply of this service itself does not
 * fit GitHub's API description.
 */
import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { addArtifact, type NewArtifact } from "./artifacts.ts";
import { checkRoutes } from "./checks.ts";
import { addComment, commentRoutes } from "./comments.ts";
import { compareRoutes } from "./compare.ts";
import { openDescription } from "./description.ts";
import { addPull, createEnvironment, type Job, type NewPull } from "./environment.ts";
import { createFaults, type Fault } from "./faults.ts";
import { createGitStore, type GitStore } from "./git.ts";
import { objectRoutes } from "./git-objects.ts";
import { refRoutes } from "./git-refs.ts";
import { issueRoutes } from "./issues.ts";
import { pullRoutes } from "./pulls.ts";
import { formatTime } from "./render.ts";
import { createRouter } from "./routes.ts";
import { runRoutes } from "./runs.ts";
import { type Service, serve } from "./server.ts";
import {
	type Artifact,
	type Comment,
	createState,
	type LocalGitHubState,
	type Permissions,
	type Pull,
} from "./state.ts";
import type { World } from "./world.ts";

export type { Job } from "./environment.ts";
export type { Fault } from "./faults.ts";
export type { LocalGitHubState } from "./state.ts";

export interface LocalGitHub {
	url: string;
	state: LocalGitHubState;
	inject(fault: Fault): void;
	environment(job: Job): Promise<Record<string, string>>;
	token(permissions: Permissions): string;
	addPull(pull: NewPull): Pull;
	addArtifact(given: NewArtifact): Artifact;
	addComment(comment: { issue: number; body: string; author: string }): Comment;
	close(): Promise<void>;
}

export interface LocalGitHubOptions {
	gitDir?: string;
}

const routes = [
	...commentRoutes,
	...issueRoutes,
	...pullRoutes,
	...checkRoutes,
	...compareRoutes,
	...refRoutes,
	...objectRoutes,
	...runRoutes,
];

function createWorld(options: LocalGitHubOptions, url: string): { world: World; closeGit(): Promise<void> } {
	const [owner, name] = ["acme", "engines"];
	let counter = 1000;
	let store: Promise<GitStore> | undefined;
	const git = (): Promise<GitStore> => {
		store ??= createGitStore(options.gitDir);
		return store;
	};
	const world: World = {
		...{ url, repository: `${owner}/${name}`, owner, name, git },
		state: createState(),
		tokens: new Map(),
		jobs: new Map(),
		blobSignature: randomBytes(16).toString("hex"),
		nextId: () => ++counter,
		now: () => formatTime(Date.now()),
	};
	return { world, closeGit: async () => (await store)?.close() };
}

let usualPort = 0;

function listen(server: Server, port: number): Promise<number> {
	return new Promise((settle, reject) => {
		server.once("error", reject);
		server.listen(port, "127.0.0.1", () => {
			server.off("error", reject);
			settle((server.address() as AddressInfo).port);
		});
	});
}

export async function startLocalGitHub(options: LocalGitHubOptions = {}): Promise<LocalGitHub> {
	const server = createServer();
	// A process that stays may know the address of an earlier one.
	usualPort = await listen(server, usualPort).catch(() => listen(server, 0));
	const url = `http://127.0.0.1:${usualPort}`;
	const { world, closeGit } = createWorld(options, url);
	const faults = createFaults();
	const description = openDescription();
	const service: Service = { world, faults, description, find: createRouter(routes), broken: [] };
	server.on("request", (message, response) => {
		serve(service, message, response).catch((cause: unknown) => {
			service.broken.push(String(cause));
			response.destroy();
		});
	});
	const close = async (): Promise<void> => {
		const closed = new Promise<void>((settle) => server.close(() => settle()));
		server.closeAllConnections();
		await closed;
		await closeGit();
		if (service.broken.length > 0)
			throw new Error(`the local GitHub broke its own rules:\n${service.broken.splice(0).join("\n")}`);
	};
	return {
		url,
		state: world.state,
		inject: faults.inject,
		environment: (job) => createEnvironment(world, job),
		token(permissions) {
			const token = `ghs_${randomBytes(18).toString("hex")}`;
			world.tokens.set(token, { permissions, login: "github-actions[bot]" });
			return token;
		},
		addPull: (pull) => addPull(world, pull),
		addArtifact: (given) => addArtifact(world, given),
		addComment: (comment) => addComment(world, comment),
		close,
	};
}
