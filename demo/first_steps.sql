CREATE EXTENSION idem;
SELECT transaction_id, outcome FROM idem_create_transaction('shop', 'key-1', 1999, 'EUR', '{"cart": 17}');
SELECT transaction_id, outcome FROM idem_create_transaction('shop', 'key-1', 1999, 'EUR', '{"cart": 17}');
SELECT transaction_id, outcome FROM idem_create_transaction('shop', 'key-1', 2999, 'EUR', '{"cart": 17}');
\warn SQLSTATE: :LAST_ERROR_SQLSTATE
