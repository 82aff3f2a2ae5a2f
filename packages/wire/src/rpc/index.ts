/** The lines of `holdfast rpc`, and the messages of the WebSocket. */
export * as LineSplitter from "./LineSplitter.ts"
export * as RpcLines from "./RpcLines.ts"
export * as SocketMessages from "./SocketMessages.ts"
