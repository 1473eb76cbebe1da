// Door of the action in report/: merges what the jobs left, and shows it.
process.stdout.write("trtgate report\n");
const { runReportAction } = await import("./app/report-action.ts");
process.exitCode = await runReportAction();
