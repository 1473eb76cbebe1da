import { expect, it } from "vitest";
import { systemClock } from "../../src/adapters/clock.ts";

it("the system clock never goes back, and reports the time in UTC", () => {
	const clock = systemClock();
	const before = clock.now();
	expect(clock.now()).toBeGreaterThanOrEqual(before);
	expect(clock.timestamp()).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});
