export type { LineChannel, Open } from "./ProcessChannel.ts"
export { RpcClient, type RpcOptions } from "./RpcClient.ts"
export { RpcError } from "./RpcError.ts"
