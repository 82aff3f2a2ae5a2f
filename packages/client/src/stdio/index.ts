/** The client of a `holdfast rpc` process, over its standard input and output. */
export type { LineChannel, OpenChannel } from "./ProcessChannel.ts"
export { RpcClient, type RpcOptions, type RpcState } from "./RpcClient.ts"
export type { TurnResult as RpcResult } from "../Turn.ts"
export { RpcError } from "../ClientError.ts"
