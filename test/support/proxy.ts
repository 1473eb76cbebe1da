import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";

const blobs = "http://blobs.github.test";

export interface Proxy {
	url: string;
	/** Where what went through it was to go: `CONNECT api.github.test:80`, `PUT blobs.github.test`. */
	passed: string[];
	close(): Promise<void>;
}

/**
 * Takes every host ending in .github.test for the service at `target`, and refuses all others. Addresses of the service in its
 * own answers name a host that only the proxy knows, since clients go straight to a loopback address.
 */
export async function startProxy(target: string): Promise<Proxy> {
	const passed: string[] = [];
	const front = createServer((message, response) => forward(target, message, response));
	const proxy = createServer((message, response) => {
		const { hostname, pathname, search } = new URL(message.url ?? "/", "http://nowhere.test");
		passed.push(`${message.method} ${hostname}`);
		if (!isKnown(hostname)) return void response.writeHead(502).end();
		message.url = `${pathname}${search}`;
		forward(target, message, response);
	});
	const frontPort = await listen(front);
	proxy.on("connect", (message, client, head) => {
		passed.push(`CONNECT ${message.url}`);
		if (!isKnown((message.url ?? "").replace(/:\d+$/, "")))
			return void client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
		const server = connect(frontPort, "127.0.0.1", () => {
			client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
			server.write(head);
			server.pipe(client).pipe(server);
		});
		for (const end of [client, server]) end.on("error", () => void [client.destroy(), server.destroy()]);
	});
	const port = await listen(proxy);
	const stop = (server: typeof front): Promise<void> =>
		new Promise((settle) => {
			server.close(() => settle());
			server.closeAllConnections();
		});
	return {
		url: `http://127.0.0.1:${port}`,
		passed,
		close: async () => void (await Promise.all([front, proxy].map(stop))),
	};
}

function isKnown(host: string): boolean {
	return host.endsWith(".github.test");
}

function listen(server: ReturnType<typeof createServer>): Promise<number> {
	return new Promise((settle) =>
		server.listen(0, "127.0.0.1", () => settle((server.address() as AddressInfo).port)),
	);
}

function forward(target: string, message: IncomingMessage, response: ServerResponse): void {
	const { method, url = "/", headers } = message;
	const onward = request(new URL(url, target), { method: method ?? "GET", headers }, (answer) => {
		const parts: Buffer[] = [];
		answer.on("data", (part: Buffer) => parts.push(part));
		answer.on("end", () => {
			const body = Buffer.concat(parts);
			const isJson = /json/.test(answer.headers["content-type"] ?? "");
			const sent = isJson ? Buffer.from(body.toString().replaceAll(target, blobs)) : body;
			const { "content-length": _length, location, ...kept } = answer.headers;
			const onto = location === undefined ? {} : { location: location.replace(target, blobs) };
			response
				.writeHead(answer.statusCode ?? 502, { ...kept, ...onto, "content-length": sent.length })
				.end(sent);
		});
	});
	onward.on("error", () => response.destroy());
	message.pipe(onward);
}
