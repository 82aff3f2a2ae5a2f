/**
 * Programs that are bundled to see how large the packages are: esbuild, minified, for the browser, and gzip.
 *
 * A program is written as a user's: it imports the packages by name, as they are packed, and makes everything that it needs to run a turn.
 */
import { execFileSync } from "node:child_process"
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"

/** A program, and the aim for its bundle in kB of gzip. */
export interface Bundle {
  readonly name: string
  readonly program: string
  readonly aimKb?: number
}

/** The version of the bundler. */
export const ESBUILD = "0.28.2"

const turn = (provider: string) => `
import { Checkpoint, EventSink, Provider, Toolbox, Turn } from "@holdfast/kernel"
import { Profile, RetryStrategies } from "@holdfast/policy"
import { Ids } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
${provider}
const turn = Turn.runTurn({
  conversationId: Ids.ConversationId.make("demo"),
  turnId: Ids.TurnId.make("turn-1"),
  target: { provider: "mine", model: "my-model" },
  history: [],
  prompt: "Are you there?",
  startedAt: Date.now()
}).pipe(
  Effect.provide([
    Layer.succeed(EventSink.EventSink, { live: console.log, persist: (events) => Effect.sync(() => console.log(events)) }),
    RetryStrategies.layer(Profile.resolve({ profile: "interactive" }), (delay) =>
      Effect.as(Effect.sleep(delay), { type: "elapsed" })
    ),
    Checkpoint.layerMemory,
    Toolbox.layerNoop,
    provider
  ])
)
console.log(await Effect.runPromise(turn))`

/** The programs. */
export const bundles: ReadonlyArray<Bundle> = [
  {
    name: "effect",
    program: `import * as Effect from "effect/Effect"
await Effect.runPromise(Effect.sleep(1))`
  },
  {
    name: "kernel + policy",
    aimKb: 55,
    program: turn(`import * as Stream from "effect/Stream"
const provider = Layer.succeed(Provider.Provider, { stream: () => Stream.make({ type: "finish", finishReason: "stop" }) })`)
  },
  {
    name: "kernel + policy + both native providers",
    aimKb: 80,
    program: turn(`import { Anthropic, OpenAiCompatible } from "@holdfast/providers"
import * as Fetch from "@holdfast/providers/fetch"
const provider = Layer.provide(
  Layer.effect(
    Provider.Provider,
    Effect.map(
      Effect.all([OpenAiCompatible.make({ baseUrl: "https://a.test/v1" }), Anthropic.make({ baseUrl: "https://b.test/v1" })]),
      ([openAi, anthropic]) => ({
        stream: (request) => (request.target.provider === "anthropic" ? anthropic : openAi).stream(request)
      })
    )
  ),
  Fetch.layer
)`)
  },
  {
    name: "holdfast",
    program: `import { holdfast } from "holdfast"
const hf = holdfast({ model: async function* () { yield "Here." } })
console.log(await hf.turn("Are you there?").result)`
  },
  {
    name: "client",
    program: `import { ConversationView, HoldfastClient } from "@holdfast/client"
const client = new HoldfastClient()
const conversation = await client.createConversation()
for await (const view of conversation.events().views()) console.log(view, ConversationView.canRetry(view))`
  }
]

/** Bundles a program in a project that has the packages and esbuild; returns its size in bytes of gzip. */
export const sizeOf = (project: string, { program }: Bundle): number => {
  const file = join(project, "bundled.mjs")
  writeFileSync(file, program)
  const text = execFileSync(
    join(project, "node_modules/.bin/esbuild"),
    [file, "--bundle", "--minify", "--format=esm", "--platform=browser", "--log-level=error"],
    { maxBuffer: 1 << 26 }
  )
  return gzipSync(text, { level: 9 }).length
}

/** The aim for the page of the service, in kB of gzip, up to its first use. */
export const PAGE_AIM_KB = 250

/** The sizes of the page in the packed service, in bytes of gzip: the index with the scripts and styles that it names, and with all. */
export const pageSizesOf = (project: string): { readonly firstUse: number; readonly whole: number } => {
  const folder = join(project, "node_modules/@holdfast/server/program/page")
  const files = globSync("{index.html,assets/*.{js,css}}", { cwd: folder })
  const sum = (names: ReadonlyArray<string>) =>
    names.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name)), { level: 9 }).length, 0)
  const index = files.includes("index.html") ? readFileSync(join(folder, "index.html"), "utf8") : ""
  return {
    firstUse: sum(files.filter((name) => name === "index.html" || index.includes(`"/${name}"`))),
    whole: sum(files)
  }
}

/** The most kB that a bundle may have, by name: half a kB above its size, taken down when it falls. */
export const recorded: { readonly [name: string]: number } = JSON.parse(
  readFileSync(join(import.meta.dirname, "../bundles.json"), "utf8")
)
