// When a page is first painted in headless Chromium, by its own clock. `CHROMIUM` names the browser.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

interface Reply {
	id?: number;
	result?: { result?: { value?: unknown } };
}

const waitMs = (ms: number) => new Promise((settle) => setTimeout(settle, ms));

/** @returns milliseconds until the first contentful paint. */
export async function firstPaintMs(page: string, windowSize: string): Promise<number> {
	const profile = mkdtempSync(join(tmpdir(), "trtgate-chromium-"));
	const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", `--window-size=${windowSize}`];
	const argv = [...flags, "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"];
	const browser = spawn(process.env["CHROMIUM"] ?? "chromium", argv, { stdio: "ignore" });
	try {
		let port = "";
		for (let tries = 0; port === "" && tries < 600; tries += 1) {
			await waitMs(100);
			try {
				port = readFileSync(join(profile, "DevToolsActivePort"), "utf8").split("\n")[0] ?? "";
			} catch {}
		}
		const targets = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as {
			type: string;
			webSocketDebuggerUrl: string;
		}[];
		const socket = new WebSocket(targets.find(({ type }) => type === "page")?.webSocketDebuggerUrl ?? "");
		await new Promise((opened) => socket.addEventListener("open", opened, { once: true }));
		let id = 0;
		const call = (method: string, params: object): Promise<Reply> => {
			id += 1;
			const own = id;
			return new Promise((settle) => {
				socket.addEventListener("message", ({ data }) => {
					const reply = JSON.parse(String(data)) as Reply;
					if (reply.id === own) settle(reply);
				});
				socket.send(JSON.stringify({ id: own, method, params }));
			});
		};
		await call("Page.navigate", { url: pathToFileURL(resolve(page)).href });
		const expression = `performance.getEntriesByType("paint").find(({ name }) => name === "first-contentful-paint")?.startTime`;
		for (let tries = 0; tries < 300; tries += 1) {
			await waitMs(100);
			const value = (await call("Runtime.evaluate", { expression })).result?.result?.value;
			if (typeof value === "number") return value;
		}
		return Number.NaN;
	} finally {
		browser.kill();
		await new Promise((ended) => browser.once("exit", ended));
		rmSync(profile, { recursive: true, force: true });
	}
}
