/**
 * The real `useChat` of the AI SDK in Chromium, over the service's `/v1/chat` on another origin: two outages, `kill -9` of the service in the first wait,
 * a tool, and an answer. Then a page that was away at the end of the turn.
 *
 * A wait lasts until the page has shown it: a command ends it then.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Ports from "../../../tools/src/acceptance/Ports.ts"
import type { Check } from "../../../tools/src/acceptance/Report.ts"
import * as Provider from "../Provider.ts"
import * as Life from "../scenario/Life.ts"
import * as Chromium from "./Chromium.ts"

/** What the page prints. */
interface Printed {
  readonly type: string
  readonly retryAt?: number
  readonly status?: string
  readonly text?: string
  readonly tools?: ReadonlyArray<string>
  readonly ids?: ReadonlyArray<string>
  readonly end?: string
}

/** The programs, and a folder for their data. */
export interface Options {
  readonly chromium: string
  /** The bundled script of the page. */
  readonly page: string
  /** Node, and the program of the service. */
  readonly service: readonly [node: string, program: string]
  readonly folder: string
}

/** Runs it, and checks what the page shows. */
export const run = async (
  { chromium, folder, page, service: [node, program] }: Options,
  check: Check
): Promise<void> => {
  const provider = await Provider.listen(page)
  const port = await Ports.free() // the service comes back on it
  const config = join(folder, "use-chat.json")
  const origin = provider.url.replace(/\/$/, "")
  writeFileSync(
    config,
    JSON.stringify({
      server: { port, allowedOrigins: [origin] },
      database: { path: join(folder, "use-chat.db") },
      model: "scripted/m",
      providers: { scripted: { type: "openai-compatible", baseUrl: origin, headers: {} } },
      retry: { schedule: { type: "steps", delays: ["1 hour"], tail: "1 hour" }, jitter: "none" }
    })
  )
  const serve = (): Life.Life =>
    Life.begin(node, [program, "serve", "--config", config], { stdio: ["ignore", "pipe", "ignore"] })
  let service = serve()
  for await (const line of service.lines) if (line.includes(String(port))) break
  const api = encodeURIComponent(`http://127.0.0.1:${port}/v1/chat`)
  const browser = Chromium.begin(chromium, join(folder, "use-chat-profile"), provider, `api=${api}`)
  const seen: Array<Printed> = []
  const reloaded: Array<Printed> = []
  let waits = 0
  try {
    for await (const line of browser.lines) {
      const printed: Printed = JSON.parse(line)
      seen.push(printed)
      if (printed.type === "data-provider-retry") {
        if (waits++ === 0) {
          await service.kill()
          service = serve()
        } else await retryNow(port)
      }
      if (isWhole(printed)) break
    }
    await browser.kill()
    const partial = encodeURIComponent(seen.at(-1)?.ids?.at(-1) ?? "")
    const profile = join(folder, "use-chat-reloaded")
    const again = Chromium.begin(chromium, profile, provider, `api=${api}&partial=${partial}`)
    for await (const line of again.lines) {
      const printed: Printed = JSON.parse(line)
      reloaded.push(printed)
      if (isWhole(printed)) break
    }
    await again.kill()
  } finally {
    await browser.kill()
    await service.kill()
    provider.close()
  }
  const last = seen.at(-1)
  const texts = new Set(seen.flatMap(({ text }) => (text === undefined || text === "" ? [] : [text])))
  const problem = [
    [last?.end === "completed" && last.text === "It rains.", "the answer is not there once"],
    [[...texts].every((text) => "It rains.".startsWith(text)), "a text was shown that is no part of the answer"],
    [seen.some(({ type }) => type === "lost"), "the page lost no connection"],
    [waits >= 4, "a wait was not shown, or not again after the restart"],
    [last?.tools?.[0]?.startsWith("weather output"), "the tool is not there"],
    [new Set(last?.ids).size === 2, "there are other messages than the question and its answer"],
    [provider.requests() === 5, `the provider got ${provider.requests()} requests, and 5 are expected`]
  ].find(([holds]) => holds !== true)?.[1]
  check(
    "useChat in Chromium: two outages and a kill of the service in a wait; the answer is shown once",
    problem === undefined ? undefined : `${problem}\n${seen.map((printed) => JSON.stringify(printed)).join("\n")}`
  )
  const shown = reloaded.at(-1)
  const isRight = shown?.text === "It rains." && shown.end === "completed" && new Set(shown.ids).size === 2
  check(
    "useChat in Chromium: a page with a part of the answer, which was away at the end of the turn, resumes to the whole one",
    isRight && provider.requests() === 5 ? undefined : reloaded.map((printed) => JSON.stringify(printed)).join("\n")
  )
}

// --- internal

/** Ends the wait of the only turn. */
const retryNow = async (port: number): Promise<void> => {
  const api = `http://127.0.0.1:${port}/v1`
  const { turns } = (await (await fetch(`${api}/turns?status=waiting`)).json()) as {
    readonly turns: ReadonlyArray<{ readonly conversationId: string }>
  }
  for (const { conversationId } of turns)
    await fetch(`${api}/conversations/${conversationId}/retry-now`, { method: "POST" })
}

/** The page shows the end of the turn. */
const isWhole = ({ end, status, type }: Printed): boolean => type === "shown" && end !== undefined && status === "ready"
