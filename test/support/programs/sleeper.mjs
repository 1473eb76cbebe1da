// Sleeps; with "deaf" it ignores SIGTERM.
if (process.argv[2] === "deaf") process.on("SIGTERM", () => console.log("not listening"));
console.log("asleep");
setTimeout(() => {}, 3_600_000);
