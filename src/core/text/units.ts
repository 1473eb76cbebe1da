// Formats quantities for people.
const minus = "\u2212";
const notANumber = "n/a";

const byteUnits = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

function withMinus(text: string) {
	return text.startsWith("-") ? minus + text.slice(1) : text;
}

function fixed(value: number, digits: number) {
	const text = value.toFixed(digits);
	return Number(text) === 0 ? (0).toFixed(digits) : text;
}

export function percentDigits(halfWidth: number): 1 | 2 {
	return Math.abs(halfWidth) < 5e-4 ? 2 : 1;
}

/**
 * 0.0418 is `4.2 %`, with sign `+4.2 %`; minus is U+2212. One decimal unless `digits` is given, none from 100 % on. Zero
 * has no sign.
 */
export function formatPercent(fraction: number, options: { sign?: boolean; digits?: number } = {}): string {
	const percent = fraction * 100;
	if (!Number.isFinite(percent)) return notANumber;
	const text = fixed(percent, Math.abs(percent) >= 99.95 ? 0 : (options.digits ?? 1));
	const sign = options.sign === true && Number(text) > 0 ? "+" : "";
	return `${sign}${withMinus(text)} %`;
}

export function formatLimit(fraction: number): string {
	const percent = Number((fraction * 100).toPrecision(3));
	return Number.isFinite(percent) ? `${withMinus(String(percent))} %` : notANumber;
}

export function twoDigits(value: number): string {
	return String(Number(value.toPrecision(2)));
}

/** `12,345`, `1,234.5`. The first use of toLocaleString takes 10 ms. */
export function formatCount(value: number): string {
	if (!Number.isFinite(value)) return notANumber;
	const [whole = "", ...decimals] = String(Number(value.toFixed(3))).split(".");
	return [whole.replace(/\B(?=(?:\d{3})+$)/g, ","), ...decimals].join(".");
}

const decimalUnits = ["", " k", " M", " G", " T", " P", " E"] as const;

/** Three significant digits: `9,216`, `132 M`, `4.09 G`. */
export function formatLarge(value: number): string {
	if (!Number.isFinite(value)) return notANumber;
	if (Math.abs(value) < 10_000) return formatCount(value);
	let [size, unit] = [value, 0];
	while (Math.abs(size) >= 999.5 && unit < decimalUnits.length - 1) [size, unit] = [size / 1000, unit + 1];
	return `${threeDigits(size)}${decimalUnits[unit]}`;
}

function threeDigits(value: number) {
	const size = Math.abs(value);
	return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

export function formatTimes(factor: number): string {
	return Number.isFinite(factor) ? `${formatCount(Number(factor.toPrecision(2)))}×` : "∞×";
}

/** Four significant digits; rounded first, so that 0.99999 ms is 1.000 ms and not 1000 µs. */
function fourDigits(value: number, units: Readonly<Record<string, number>>) {
	if (!Number.isFinite(value)) return notANumber;
	const rounded = Number(value.toPrecision(4));
	const all = Object.entries(units);
	const [name = "", size = 1] = all.find(([, least]) => Math.abs(rounded) >= least) ?? all.at(-1) ?? [];
	const whole = Math.trunc(Math.abs(rounded / size)).toString().length;
	return `${withMinus((rounded / size).toFixed(name === "" ? 0 : Math.max(0, 4 - whole)))} ${name}`.trimEnd();
}

/** `27.91 µs`, `1.204 ms`, `2.500 s`. */
export function formatMs(ms: number): string {
	return ms === 0 ? "0 ms" : fourDigits(ms, { s: 1000, ms: 1, µs: 1e-3, ns: 1e-6 });
}

export function formatWork(instructions: number): string {
	return fourDigits(instructions, { G: 1e9, M: 1e6, k: 1e3, "": 1 });
}

/** Three significant digits: `743 MiB`, `8.52 MiB`, `512 B`. */
export function formatBytes(bytes: number): string {
	if (!Number.isFinite(bytes)) return notANumber;
	let [size, unit] = [Math.abs(bytes), 0];
	while (Math.round(size) >= 1024 && unit < byteUnits.length - 1) [size, unit] = [size / 1024, unit + 1];
	return `${bytes < 0 ? minus : ""}${unit === 0 ? size.toFixed(0) : threeDigits(size)} ${byteUnits[unit]}`;
}

/** `320 ms`, `4.2 s`, `1 min 12 s`, `2 h 05 min`. */
export function formatDuration(ms: number): string {
	if (!Number.isFinite(ms)) return notANumber;
	if (ms < 0) return minus + formatDuration(-ms);
	if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
	if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
	const seconds = Math.round(ms / 1000);
	if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
	const minutes = Math.round(seconds / 60);
	return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/**
 * `0.9987`, `1.842`; below 0.1 or from 1e6 on `3.3e-2`; null is a dash. `digits` are the significant ones of the long
 * form.
 */
export function formatValue(value: number | "NaN" | "Infinity" | "-Infinity" | null, digits = 4): string {
	if (value === null) return "–";
	if (typeof value === "string") return withMinus(value);
	if (!Number.isFinite(value)) return notANumber;
	const size = Math.abs(value);
	if (value === 0) return "0";
	if (size >= 0.1 && size < 1e6)
		return withMinus(String(Number(value.toPrecision(size >= 1e3 ? Math.max(digits, 6) : digits))));
	return withMinus(Number(value.toPrecision(Math.max(2, digits - 2))).toExponential());
}
