/** Provides the tools of the configured tool servers to turns. */
import { type ToolServerConfig, ToolServers } from "@holdfast/mcp"
import { Layer } from "effect"
import { Tools } from "../conversation/Tools.ts"
import * as Secrets from "../redaction/Secrets.ts"

/** Keeps the servers running while the layer is open. */
export const layer = (configs: ReadonlyArray<ToolServerConfig>): Layer.Layer<Tools> =>
  Layer.effect(Tools, ToolServers.start(configs, Secrets.conceal))
