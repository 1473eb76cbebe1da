// Where the documentation explains a code.

const documentation = "https://github.com/trtgate/trtgate/blob/main/docs";
const pages = { errors: "troubleshooting.md", findings: "troubleshooting/preflight.md" } as const;

/** Every code has a heading, whose anchor is the code; null is the page itself. */
export function helpUri(code: string | null, page: keyof typeof pages): string {
	const anchor = code === null ? "" : `#${encodeURIComponent(code)}`;
	return `${documentation}/${pages[page]}${anchor}`;
}
