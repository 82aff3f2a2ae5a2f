/** The client of `holdfast rpc`: that of `@holdfast/client/stdio`, with this package's command and its plain types. */
import { extname } from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"
import * as Stdio from "@holdfast/client/stdio"
import type { RpcClient as Client, RpcOptions } from "./RpcTypes.ts"

class OwnRpcClient extends Stdio.RpcClient {
  constructor(options: RpcOptions = {}) {
    super({ command: [process.execPath, OWN_COMMAND], ...options })
  }
}

/** Starts `holdfast rpc`, and talks to it. A failure to start is the error of the first call. */
export const RpcClient: new (options?: RpcOptions) => Client = OwnRpcClient
/** One conversation in a process of its own. */
export type RpcClient = Client

// --- internal

/** The command of this package, as source or compiled. */
const OWN_COMMAND = fileURLToPath(new URL(`../bin${extname(import.meta.url)}`, import.meta.url))
