/**
 * Builds the page in a checkout, beside the running service.
 *
 * PageBuild.B1. The build is a process of its own with a low priority, so it delays no turn, and a failure of it ends nothing.
 * PageBuild.B2. It builds nothing where the built page is that of the present sources. The published service has its page.
 */
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import * as PageFiles from "./PageFiles.ts"

/** Builds the page, if this process runs a checkout; ends when the build has ended. A failure is logged. */
export const run: Effect.Effect<void> = Effect.suspend(() => {
  const program = join(PageFiles.SOURCES, "tools/build.ts")
  if (!PageFiles.isCheckout || !existsSync(program)) return Effect.void
  return built(program).pipe(
    Effect.flatMap((failure) =>
      failure === undefined
        ? Effect.void
        : Effect.annotateLogs(
            Effect.logWarning(
              "The page at / could not be built; everything else runs. `node apps/web/tools/build.ts` repeats the build."
            ),
            { failure }
          )
    )
  )
})

// --- internal

/** Runs the build; returns what it printed where it failed. */
const built = (program: string): Effect.Effect<string | undefined> =>
  Effect.callback((resume, signal) => {
    execFile(process.execPath, [program, "--in-background"], { signal }, (error, stdout, stderr) =>
      resume(Effect.succeed(error === null ? undefined : `${stdout}${stderr}`.trim() || error.message))
    )
  })
