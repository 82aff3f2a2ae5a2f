/** Measures the page of the service in a browser; the measurement is beside the browser's tests, whose packages it needs. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"

const FOLDER = join(import.meta.dirname, "../../apps/web/browser")

export const run = (): Promise<void> => {
  start("npx", "--yes", "pnpm@12", "--dir", FOLDER, "install", "--frozen-lockfile", "--silent")
  start(process.execPath, join(FOLDER, "src/bench/main.ts"))
  return Promise.resolve()
}

const start = (program: string, ...args: ReadonlyArray<string>): void => {
  const { status } = spawnSync(program, args, { stdio: "inherit" })
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}.`)
}
