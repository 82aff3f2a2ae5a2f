/**
 * A program that talks to the service: a turn through an outage, followed and steered by `@holdfast/client`.
 *
 * Run it: `npx pnpm@12 exec node examples/src/19-client.ts`
 */
import { spawn } from "node:child_process"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const cwd = mkdtempSync(join(tmpdir(), "holdfast-"))
writeFileSync(join(cwd, "holdfast.config.json"), '{"server":{"port":0},"model":"simulated/outage-1+instant"}')
const main = fileURLToPath(new URL("../../apps/session-orchestrator/src/main.ts", import.meta.url))
const service = spawn(process.execPath, [main, "serve"], { cwd, stdio: ["ignore", "pipe", "ignore"] })
let url = ""
for await (const line of createInterface(service.stdout)) {
  url = /http:\/\/\S+:\d+/.exec(line)?.[0] ?? ""
  if (url !== "") break
}

// #region client
import { HoldfastClient } from "@holdfast/client"

const client = new HoldfastClient({ url }) // and a token, where the service has one
const conversation = await client.createConversation()
const turn = await conversation.prompt("Are you there?")
for await (const event of turn) {
  if (event.type === "text-delta") process.stdout.write(event.delta)
  if (event.type === "provider-retry") await conversation.retryNow() // or waitUntil(date), switchTarget("openai/gpt-5"), …
}
const { end, status } = await turn.result()
console.log(`\n${status} after ${end.attempts} attempts`)
// #endregion client

// #region views
import { ConversationView } from "@holdfast/client"

for await (const { history, progress, retry, status } of conversation.events().views()) {
  const text = progress?.parts.map((part) => (part.type === "file" ? "" : part.text)).join("")
  if (retry !== undefined) console.log(retry.message, ConversationView.remainingMs(retry, Date.now()), "ms left")
  else console.log(status, history.length, text ?? "")
  if (status === "idle") break
}
// #endregion views

client.close()
service.kill()
