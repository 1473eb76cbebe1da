// A Docker daemon that records which containers it is asked for, and creates none.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface AskedContainer {
	Image: string;
	HostConfig: { DeviceRequests: { Count: number; Capabilities: string[][] }[] | null };
}

export async function startDocker(): Promise<{ host: string; asked: AskedContainer[] }> {
	const asked: AskedContainer[] = [];
	const server = createServer(async (request, response) => {
		const body = Buffer.concat(await request.toArray()).toString();
		const path = (request.url ?? "").replace(/^\/v[\d.]+|\?.*$/g, "");
		if (path === "/containers/create") asked.push(JSON.parse(body));
		const answer = answers.find(([pattern]) => pattern.test(path))?.[1];
		response.writeHead(answer === undefined ? 500 : 200, {
			"content-type": "application/json",
			"api-version": "1.41",
		});
		response.end(JSON.stringify(answer ?? { message: "This Docker creates no containers." }));
	});
	await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
	onTestFinished(() => void server.close());
	return { host: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const answers: readonly (readonly [RegExp, unknown])[] = [
	[/^\/_ping$/, "OK"],
	[/^\/version$/, { ApiVersion: "1.41", Os: "linux", Arch: "amd64" }],
	[/^\/info$/, { OSType: "linux", Architecture: "x86_64" }],
	[/^\/images\/.*\/json$/, { Id: "sha256:1", Os: "linux", Architecture: "amd64" }],
	[/^\/volumes$/, { Volumes: [] }],
	[/^\/(containers\/json|networks)$/, []],
	[/^\/networks\/create$/, { Id: "network" }],
];
