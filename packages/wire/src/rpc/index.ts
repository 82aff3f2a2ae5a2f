export * as LineSplitter from "./LineSplitter.ts"
export * as RpcLines from "./RpcLines.ts"
