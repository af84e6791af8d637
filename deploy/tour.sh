at=http://127.0.0.1:8080
order=$at$(curl -sS -o /dev/null -w '%header{location}' $at/v1/orders -d '{"userId":"u-1","items":[{"productId":1,"quantity":2}]}'); echo $order
curl -sS $order; echo
curl -sS -X POST $order/payment-request; echo
curl -sS $order/payment -d '{"result":"COMPLETED","paymentKey":"pay-'${order##*/}'","amount":'$(curl -sS $order | sed 's/.*"totalAmount":\([0-9]*\).*/\1/')'}'; echo
second=$at$(curl -sS -o /dev/null -w '%header{location}' $at/v1/orders -d '{"userId":"u-1","items":[{"productId":2,"quantity":5}]}')
curl -sS $second/cancel -d '{"reason":"USER_REQUESTED"}'; echo
curl -sS $at/v1/inventory/1; echo
curl -sS $at/v1/inventory/audit; echo
