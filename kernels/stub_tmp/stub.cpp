namespace { [[maybe_unused]] int stub = 0; }
