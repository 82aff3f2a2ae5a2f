/** Chromium, with a page whose turns are in IndexedDB. Its profile outlives its process. */
import { execFileSync } from "node:child_process"
import type { Provider } from "../Provider.ts"
import * as Life from "../scenario/Life.ts"

/** Unpacks the browser of `@sparticuz/chromium` into a folder; returns its program. */
export const unpack = (node: string, folder: string): string => {
  const script = 'import("@sparticuz/chromium").then(async (all) => console.log(await all.default.executablePath()))'
  const env = { ...process.env, TMPDIR: folder }
  return execFileSync(node, ["-e", script], { cwd: folder, encoding: "utf8", env }).trim()
}

/** Opens the page of the provider. What the page prints are the lines. */
export const begin = (program: string, profile: string, provider: Provider, query: string): Life.Life => {
  const flags =
    "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --no-default-browser-check"
  return Life.begin(
    program,
    [...flags.split(" "), `--user-data-dir=${profile}`, `${provider.url}page?${query}`],
    { stdio: "ignore" },
    (_child, lines) => {
      provider.onPrinted = (line) => lines.push(line)
    }
  )
}
