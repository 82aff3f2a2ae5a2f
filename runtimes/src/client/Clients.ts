/** Runs the client of a user on each runtime against the published service, and a page of another origin in Chromium; then sends it large bodies. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Check } from "../../../tools/src/acceptance/Report.ts"
import * as Chromium from "../chromium/Chromium.ts"
import * as Provider from "../Provider.ts"
import * as Life from "../scenario/Life.ts"
import * as LargeBodies from "./LargeBodies.ts"

/** The programs to use. */
export interface Options {
  /** Node, and the program of the service. */
  readonly service: readonly [node: string, program: string]
  /** Runtimes with processes, with their arguments. */
  readonly runtimes: ReadonlyArray<readonly [name: string, program: string, ...args: ReadonlyArray<string>]>
  /** The folder of `process.mjs`. */
  readonly sources: string
  readonly chromium: string
  /** The script of the page. */
  readonly page: string
  /** A folder for the service's data, and the browser's profile. */
  readonly folder: string
}

const TOKEN = "a-token-of-32-characters-at-least"

/** What each runtime prints. */
const EXPECTED = ["http", "websocket"].map((transport) =>
  JSON.stringify({ transport, status: "completed", attempts: 3, waits: 2, isSame: true })
)

/** Runs the client on every runtime. */
export const run = async (options: Options, check: Check): Promise<void> => {
  const { chromium, folder, page, runtimes, sources } = options
  const provider = await Provider.listen(page)
  const { child, url } = await start(options, "service", {
    allowedOrigins: [new URL(provider.url).origin],
    delay: "1 hour"
  })
  try {
    for (const [name, program, ...args] of runtimes) {
      const life = Life.begin(program, [...args, join(sources, "process.mjs"), url, TOKEN], { cwd: folder })
      report(name, await linesOf(life), check)
    }
    const query = new URLSearchParams({ url, token: TOKEN })
    const browser = Chromium.begin(chromium, join(folder, "client-profile"), provider, String(query))
    report("Chromium, a page of another origin", await linesOf(browser), check)
  } finally {
    child.kill()
    provider.close()
  }
  const endpoint = await LargeBodies.listen()
  const large = await start(options, "large", { delay: "10 millis", baseUrl: endpoint.baseUrl })
  try {
    await LargeBodies.run(large.url, TOKEN, endpoint.bodies, check)
  } finally {
    large.child.kill()
    endpoint.close()
  }
}

// --- internal

const report = (name: string, lines: ReadonlyArray<string>, check: Check): void =>
  check(
    `${name}: @holdfast/client follows a turn through an outage, over HTTP and a WebSocket`,
    lines.join("\n") === EXPECTED.join("\n") ? undefined : lines.join("\n")
  )

const linesOf = async (life: Life.Life): Promise<ReadonlyArray<string>> => {
  const lines: Array<string> = []
  for await (const line of life.lines) {
    if (line === "over") break
    lines.push(line)
  }
  await life.kill()
  return lines
}

/** Starts the service; resolves once it listens. */
const start = async (
  { folder, service: [node, program] }: Pick<Options, "folder" | "service">,
  name: string,
  given: { readonly allowedOrigins?: ReadonlyArray<string>; readonly delay: string; readonly baseUrl?: string }
): Promise<{ readonly child: ChildProcess; readonly url: string }> => {
  const cwd = join(folder, name)
  mkdirSync(cwd, { recursive: true })
  const config = {
    server: { port: 0, token: TOKEN, allowedOrigins: given.allowedOrigins },
    model: "simulated/steady+instant",
    ...(given.baseUrl && { providers: { large: { type: "openai-compatible", baseUrl: given.baseUrl } } }),
    retry: { schedule: { type: "steps", delays: [given.delay] }, midStream: "discard" }
  }
  writeFileSync(join(cwd, "holdfast.config.json"), JSON.stringify(config))
  const child = spawn(node, [program, "serve"], { cwd, stdio: ["ignore", "pipe", "ignore"] })
  for await (const line of createInterface(child.stdout)) {
    const [url] = /http:\/\/\S+:\d+/.exec(line) ?? []
    if (url !== undefined) return { child, url }
  }
  throw new Error("The service has ended without an address.")
}
