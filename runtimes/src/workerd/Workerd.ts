/** workerd, the runtime of Cloudflare Workers, with the Durable Objects of the scenario. Their storage outlives its process. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import type { Check } from "../../../tools/src/acceptance/Report.ts"
import * as Provider from "../Provider.ts"
import * as Life from "../scenario/Life.ts"
import { eventsOf } from "../scenario/Runtimes.ts"

/** Puts the bundled worker and its configuration into a folder. */
export const prepare = (folder: string, worker: string): void => {
  mkdirSync(join(folder, "storage"), { recursive: true })
  writeFileSync(join(folder, "worker.js"), worker)
  const config = readFileSync(join(import.meta.dirname, "config.capnp"), "utf8")
  writeFileSync(join(folder, "config.capnp"), config.replace("STORAGE", join(folder, "storage")))
}

/** Starts workerd. It gets one request, to the path, as soon as it listens; without a path it gets none. */
export const begin = (program: string, folder: string, path?: string): Life.Life =>
  Life.begin(
    program,
    ["serve", "config.capnp", "--control-fd=3"],
    { cwd: folder, stdio: ["ignore", "pipe", "ignore", "pipe"] },
    (child) => {
      createInterface(child.stdio[3] as Readable).on("line", (line) => {
        const { event, port } = JSON.parse(line)
        // The response comes when the life is over, or not at all.
        if (event === "listen" && path !== undefined) fetch(`http://127.0.0.1:${port}${path}`).catch(() => {})
      })
    }
  )

/** Shows that an alarm ends the wait of a turn: workerd is killed in the wait, and started again without a request. */
export const showAlarm = async (program: string, folder: string, check: Check): Promise<void> => {
  const provider = await Provider.listen()
  try {
    let waits = 0
    const first = begin(program, folder, `/adapter/alarm?url=${encodeURIComponent(provider.url)}`)
    for await (const line of first.lines)
      if (line.includes('"type":"provider-retry"') && ++waits === 2) await first.kill()
    const events = await eventsOf(begin(program, folder))
    const { attempts, status, text } = JSON.parse(events.at(-1) ?? "{}")
    const isAnswered = status === "completed" && text === "It rains." && attempts === 5 && provider.requests() === 5
    check(
      "Durable Object: its alarm resumes a turn after workerd was killed in a wait",
      isAnswered ? undefined : events.join("\n")
    )
  } finally {
    provider.close()
  }
}
