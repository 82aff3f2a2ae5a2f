/**
 * How long a bundled program takes from its start to its first call of a provider, beside bare Node and the AI SDK.
 *
 * The clock runs from the spawn of the process until the provider's socket has the request; then the process is killed. All of them send
 * one prompt to the same endpoint. The bare limit is one `fetch` in Node.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as FigureTable from "./FigureTable.ts"
import * as Project from "./packed/Project.ts"
import { ended } from "./Processes.ts"
import * as Rounds from "./Rounds.ts"

/** Programs in JavaScript, each with the address of the endpoint in its first argument. */
const PROGRAMS = {
  bare: `const body = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "Hello" }] })
await fetch(process.argv[2] + "/chat/completions", { method: "POST", headers: { "content-type": "application/json" }, body })`,
  library: `import { holdfast } from "holdfast"
const hf = holdfast({ model: "openai/m", env: { OPENAI_API_KEY: "none", OPENAI_BASE_URL: process.argv[2] } })
await hf.turn("Hello").result`,
  kernel: `import { Checkpoint, EventSink, Provider, Toolbox, Turn } from "@holdfast/kernel"
import { Profile, RetryStrategies } from "@holdfast/policy"
import { OpenAiCompatible } from "@holdfast/providers"
import * as Fetch from "@holdfast/providers/fetch"
import { Ids } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
await Effect.runPromise(
  Turn.runTurn({
    conversationId: Ids.ConversationId.make("c"),
    turnId: Ids.TurnId.make("t"),
    target: { provider: "openai", model: "m" },
    history: [],
    prompt: "Hello",
    startedAt: Date.now()
  }).pipe(
    Effect.provide([
      Layer.provide(Layer.effect(Provider.Provider, OpenAiCompatible.make({ baseUrl: process.argv[2] })), Fetch.layer),
      Layer.succeed(EventSink.EventSink, { live: () => {}, persist: () => Effect.void }),
      RetryStrategies.layer(Profile.resolve(), (delay) => Effect.as(Effect.sleep(delay), { type: "elapsed" })),
      Checkpoint.layerMemory,
      Toolbox.layerNoop
    ])
  )
)`,
  aiSdk: `import { createOpenAI } from "@ai-sdk/openai"
import { streamText } from "ai"
const model = createOpenAI({ baseURL: process.argv[2], apiKey: "none" }).chat("m")
for await (const text of streamText({ model, prompt: "Hello" }).textStream) console.log(text)`
}

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  Project.within(async (project) => {
    const endpoint = await listen()
    const started = (name: keyof typeof PROGRAMS) => {
      const file = Project.bundled(project, name, PROGRAMS[name])
      return () => endpoint.firstCall(file)
    }
    try {
      const { aiSdk, bare, kernel, library } = await Rounds.alternate(
        { bare: started("bare"), library: started("library"), kernel: started("kernel"), aiSdk: started("aiSdk") },
        Rounds.count(15),
        1
      )
      const row = (what: string, holdfast: ReadonlyArray<number>) => ({
        what,
        holdfast,
        bare,
        unit: "ms",
        aim: undefined
      })
      FigureTable.print("Start: from the spawn of a bundled program to its first call, beside one fetch in Node", [
        row("holdfast", library),
        row("kernel, policy and the OpenAI adapter", kernel),
        row("the AI SDK: streamText with @ai-sdk/openai", aiSdk)
      ])
    } finally {
      endpoint.close()
    }
  })

// --- internal

const listen = async () => {
  let arrived: (() => void) | undefined
  // Nothing is answered: the process is killed when its request is there.
  const server = createServer(() => arrived?.())
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo // it listens on TCP
  const firstCall = async (file: string): Promise<number> => {
    const request = new Promise<void>((resolve) => (arrived = resolve))
    const before = performance.now()
    const child: ChildProcess = spawn(process.execPath, [file, `http://127.0.0.1:${port}/v1`], { stdio: "ignore" })
    const failed = once(child, "exit").then(([code]) => Promise.reject(new Error(`${file} ended with ${code}`)))
    failed.catch(() => {}) // once it was killed, too
    await Promise.race([request, failed])
    const took = performance.now() - before
    child.kill("SIGKILL")
    await ended(child)
    return took
  }
  return {
    firstCall,
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}
