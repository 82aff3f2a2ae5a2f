/** The client of `holdfast rpc`: that of `@holdfast/client/stdio`, with this package's command. */
import { extname } from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"
import * as Stdio from "@holdfast/client/stdio"

export { RpcError } from "@holdfast/client/stdio"
export type { RpcResult, RpcState } from "@holdfast/client/stdio"

/** How the process is started, and which conversation it runs; by default by the service that is installed beside this package (`@holdfast/server`). */
export type RpcOptions = Partial<Stdio.RpcOptions>

/** Starts `holdfast rpc`, and talks to it. A failure to start is the error of the first call. */
export class RpcClient extends Stdio.RpcClient {
  constructor(options: RpcOptions = {}) {
    super({ command: [process.execPath, OWN_COMMAND], ...options })
  }
}

// --- internal

/** The command of this package, as source or compiled. */
const OWN_COMMAND = fileURLToPath(new URL(`../bin${extname(import.meta.url)}`, import.meta.url))
