export { RpcClient, type RpcOptions } from "./RpcClient.ts"
export { RpcError } from "./RpcError.ts"
export type { RpcResult, RpcState } from "./RpcTypes.ts"
