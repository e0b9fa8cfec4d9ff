function.walk([&](MatmulOp op) { products.push_back(op); });
