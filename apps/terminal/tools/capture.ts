/**
 * Takes the pictures of docs/terminal.md: `npx pnpm@12 --dir apps/terminal capture`.
 *
 * It runs `holdfast chat` of the present sources in a pseudo-terminal, on a simulated provider that is down, and writes the cells as SVG.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundle, folder } from "../../../tools/src/bundleProgram.ts"
import * as Pty from "../test/Pty.ts"
import * as Svg from "./Svg.ts"

const ENTER = "\r"
const ESC = "\u001b"
/** Rows about the service that the terminal runs. */
const HEAD = 2
const images = join(import.meta.dirname, "../../../docs/images")

await bundle()
const directory = mkdtempSync(join(tmpdir(), "capture-"))
writeFileSync(
  join(directory, "holdfast.config.json"),
  JSON.stringify({ server: { port: 0 }, model: "simulated/529x*", database: { path: join(directory, "h.db") } })
)
const terminal = Pty.open({
  command: [process.execPath, join(folder, "main.js"), "chat"],
  directory,
  columns: 84,
  rows: 16
})
const save = (name: string, alt: string): void =>
  writeFileSync(join(images, name), Svg.of(terminal.terminal, alt, HEAD))
try {
  await terminal.until(() => terminal.bytes().includes(`${ESC}[?2004h`) && terminal.text().includes("/help"))
  terminal.type(`Summarise last night's incidents.${ENTER}`)
  for (const retry of ["1/21", "2/21", "3/21", "4/21"]) {
    await terminal.until(`Retrying (${retry})`)
    terminal.type(`/now${ENTER}`)
  }
  await terminal.until(/Retrying \(5\/21\) in 4m 5\ds/)
  await terminal.until("budget left")
  save(
    "terminal-wait.svg",
    "A terminal that waits: four failures, and the countdown to the fifth retry, which Esc cancels."
  )
  terminal.type(ESC)
  await terminal.until("Enter asks again")
  save("terminal-cancelled.svg", "The same terminal after Esc: the retries are cancelled, and Enter asks again.")
} finally {
  terminal.close()
  rmSync(directory, { recursive: true, force: true })
}
