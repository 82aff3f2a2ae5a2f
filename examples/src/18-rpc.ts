/**
 * A conversation in a process of its own: `holdfast rpc` by its client. The model is down, and a person ends the wait.
 *
 * Run it: `npx pnpm@12 exec node examples/src/18-rpc.ts`
 */
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"

const cwd = mkdtempSync(join(tmpdir(), "holdfast-"))
// From a checkout. With @holdfast/server installed, no command is needed.
const command = [
  process.execPath,
  fileURLToPath(new URL("../../apps/session-orchestrator/src/main.ts", import.meta.url))
] as const

// #region rpc
import { RpcClient } from "holdfast/rpc"

await using client = new RpcClient({ command, cwd, model: "simulated/outage-1+instant" })
client.on((event) => {
  if (event.type !== "provider-retry") return
  console.log(event.message, "again at", new Date(event.retryAt))
  void client.retryNow() // or abortRetry(), waitUntil(date), switchTarget("openai/gpt-5"), extendBudget(ms)
})
const { status, text } = await client.prompt("Are you there?") // ends with the turn, after all its retries
console.log(status, text)
// #endregion rpc
