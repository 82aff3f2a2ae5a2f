/** Tools of MCP servers as a toolbox of the kernel. `ToolServers` is where to begin. */
export * as Intake from "./transport/Intake.ts"
export * as LineTransport from "./transport/LineTransport.ts"
export * as Offers from "./Offers.ts"
export * as ToolServer from "./ToolServer.ts"
export type { ToolServerConfig, ToolServerReach } from "./ToolServerConfig.ts"
export * as ToolServers from "./ToolServers.ts"
